"""Say whose changes of policies a pipeline takes, and read what is needed to tell."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.kinds import PolicyOperator
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.pipeline.secrets import read_policy_secret
from fugu.dataflows.pipeline.source_section import PolicySource
from fugu.dataflows.policies.owners import OwnerSection
from fugu.dataflows.policies.signatures import Signatures
from fugu.dataflows.policies.wording import duration

_MOST_NAMED, _MOST_LINES = 5, 20


def signatures_of(file: PipelineFile) -> Signatures | None:
    """Return what tells the changes of owners; None where policies do not change."""
    source, operator = file.pipeline.source.policies, file.pipeline.operator
    if source is None or not isinstance(operator, PolicyOperator):
        return None
    document = operator.policies
    by_hmac = [owner.name for owner in document.owners.values() if owner.hmac]
    if by_hmac and source.hmac is None:
        raise ConfigurationError(
            f"source.policies: owner {by_hmac[0]} signs by hmac; say where the secret is, as in "
            "{topic: ..., hmac: {env: NAME}}"
        )
    if source.hmac is not None and not by_hmac:
        raise ConfigurationError(
            "source.policies.hmac: the policy document has no owner who signs by it; add "
            "owners: [{name: ..., hmac: true}] to the document or to a collection"
        )
    required, secret = source.signed == "required", read_policy_secret(file)
    return Signatures(document, source.topic, required, secret)


def who_can_change(pipeline: Pipeline) -> list[str]:
    """Say of every collection who can change its policies; nothing where there are none."""
    source, operator = pipeline.source.policies, pipeline.operator
    if not isinstance(operator, PolicyOperator):
        return []
    if source is None:
        return ["nobody: source.policies is not set, so policies stay those of the document"]
    notice = duration(operator.timeline.notice * operator.timeline.tick_milliseconds)
    lines = [
        f"{_named(collections)}: {_rights(owners, source, notice)}"
        for owners, collections in _by_owners(operator).items()
    ]
    return list(_shortened(lines, _MOST_LINES))


def policies_relied_on(pipeline: Pipeline) -> list[str]:
    """Return what is taken for granted of the topic of changes."""
    source = pipeline.source.policies
    if source is None:
        return []
    return [
        f"topic {source.topic} (source.policies): Kafka lets in only who may change policies, and "
        "keeps every record until all pipelines have read it; what its records have changed so far "
        "is not counted here (fugu policy force shows it)"
    ]


def _by_owners(operator: PolicyOperator) -> dict[tuple[str, ...], list[str]]:
    """Return collections by their owners, in words."""
    found = defaultdict[tuple[str, ...], list[str]](list)
    for collection in operator.policies.section.collections:
        owners = operator.policies.owners_of(collection.id)
        found[tuple(map(_signing, owners))].append(collection.id)
    return found


def _signing(owner: OwnerSection) -> str:
    return f"{owner.name} ({'hmac' if owner.hmac else 'ed25519'})"


def _rights(owners: Sequence[str], source: PolicySource, notice: str) -> str:
    required, writers = source.signed == "required", f"whoever can write to topic {source.topic}"
    if not owners:
        if required:
            return "nobody, because it has no owners and source.policies.signed is required"
        return (
            f"{writers} can add policies, within the limits, and remove or weaken them after a "
            f"notice of {notice}"
        )
    others = (
        "nobody else changes any"
        if required
        else f"{writers} can add more, within half of the limits"
    )
    return f"{_named(owners)} can remove or weaken policies, after a notice of {notice}; {others}"


def _named(names: Sequence[str]) -> str:
    return ", ".join(_shortened(names, _MOST_NAMED))


def _shortened(texts: Sequence[str], most: int) -> Iterator[str]:
    yield from texts[:most]
    if len(texts) > most:
        yield f"and {len(texts) - most:,} more"
