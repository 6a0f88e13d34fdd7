"""Say whose changes of policies a pipeline takes, and read what is needed to tell."""

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.kinds import PolicyOperator
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.pipeline.secrets import read_policy_secret
from fugu.dataflows.policies.signatures import Signatures


def signatures_of(file: PipelineFile) -> Signatures | None:
    """Return what tells the changes of owners; None where policies do not change."""
    source, operator = file.pipeline.source.policies, file.pipeline.operator
    if source is None or not isinstance(operator, PolicyOperator):
        return None
    document, secret = operator.policies, read_policy_secret(file)
    by_hmac = [owner.name for owner in document.owners.values() if owner.hmac]
    if by_hmac and secret is None:
        raise ConfigurationError(
            f"source.policies: owner {by_hmac[0]} signs by hmac; say where the secret is, as in "
            "{topic: ..., hmac: {env: NAME}}"
        )
    if secret is not None and not by_hmac:
        raise ConfigurationError(
            "source.policies.hmac: the policy document has no owner who signs by it; add "
            "owners: [{name: ..., hmac: true}] to the document or to a collection"
        )
    return Signatures(document, source.topic, source.signed == "required", secret)
