"""Say whose changes of policies a pipeline takes, and what Kafka may do to their topic."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.kafka.client import EVERYBODY, Rights, Topic
from fugu.dataflows.kinds import PolicyOperator
from fugu.dataflows.pipeline.config import Pipeline, PipelineFile
from fugu.dataflows.pipeline.secrets import read_policy_secret
from fugu.dataflows.pipeline.source_section import PolicySource
from fugu.dataflows.policies.course import duration
from fugu.dataflows.policies.fields import OwnerSection
from fugu.dataflows.policies.signatures import Signatures

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


_FOR_EVER = "-1"


def policy_topic_remarks(
    topic: Topic, rights: Rights | None, signatures: Signatures
) -> Iterator[str]:
    """Yield what somebody should look at, before policies are changed by others or by time."""
    yield from loss_remarks(topic, signatures)
    yield from _about_rights(topic.name, rights, signatures)
    unowned = _unowned(signatures)
    if unowned and signatures.required:
        yield (
            f"signed is required, and collection {unowned[0]} has no owners: nobody can change its "
            "policies. Name owners in the policy document"
        )


def loss_remarks(topic: Topic, signatures: Signatures, first: int = 0) -> Iterator[str]:
    """Yield what is gone from a topic whose records begin at `first`, and what may go."""
    if first > 0:
        yield (
            f"topic {topic.name} (source.policies) begins at offset {first}: what was written "
            "before is gone, and policies that it added are not known. Write those changes again"
        )
    settings = topic.settings or {}
    if settings.get("message.timestamp.type", "LogAppendTime") != "LogAppendTime":
        yield (
            f"{topic.name} has message.timestamp.type=CreateTime: who writes a change says when, "
            "and a removal that is dated back needs no notice for figures that are late. Set it to "
            "LogAppendTime"
        )
    if "compact" in settings.get("cleanup.policy", ""):
        yield (
            f"{topic.name} is compacted: of each policy the last record only is sure to be read, "
            "so write the end of a policy into it (until), and never a removal that is to come. "
            "Better set cleanup.policy=delete"
        )
        if len(_unowned(signatures)) < len(signatures.document.policies.collections):
            yield (
                f"{topic.name} is compacted: a record that nobody has signed removes the one of "
                "an owner with the same key, before a new pipeline reads it. Set "
                "cleanup.policy=delete"
            )
    if "delete" in settings.get("cleanup.policy", ""):
        for setting in ("retention.ms", "retention.bytes"):
            kept = settings.get(setting, _FOR_EVER)
            if kept != _FOR_EVER:
                yield (
                    f"{topic.name} has {setting}={kept}: old changes go, and with them, for a "
                    f"pipeline that has not read them, what they protect. Set {setting}=-1"
                )


def log_remarks(name: str, rights: Rights | None) -> Iterator[str]:
    """Yield what somebody should look at in the internal log of an aggregate."""
    if rights is None:
        return
    if EVERYBODY in rights.may("READ"):
        yield (
            f"everybody who reaches the broker may read {name}, which holds what is not released. "
            "Let the user of the pipeline alone read there"
        )
    if EVERYBODY in rights.may("WRITE"):
        yield (
            f"everybody who reaches the broker may write to {name}. Entries of others do not "
            "count, but in a log that an earlier version of Fugu has begun they can still change "
            "policies as if an owner had signed. Let the user of the pipeline alone write there"
        )


def _about_rights(name: str, rights: Rights | None, signatures: Signatures) -> Iterator[str]:
    if rights is None:
        yield (
            f"who may write to {name} cannot be checked: Kafka does not tell this user its ACLs. "
            "Grant Describe on the cluster to check"
        )
        return
    if not rights.ruled:
        yield (
            f"no ACL is about {name}: nobody may write to it but super users, or everybody may "
            "(allow.everyone.if.no.acl.found). Add ACLs for those who change policies"
        )
        return
    if EVERYBODY in rights.may("WRITE"):
        yield (
            f"everybody who reaches the broker may write to {name}, and so "
            f"{_what_writers_can_do(signatures)}, and hold figures up by a transaction that stays "
            "open. Add ACLs for those who change policies"
        )
    removing = rights.may("DELETE", "ALTER", "ALTER_CONFIGS")
    if removing:
        who = "everybody who reaches the broker" if EVERYBODY in removing else ", ".join(removing)
        yield (
            f"{who} may delete records of {name}, or set how long it keeps them "
            "(Delete, Alter, AlterConfigs): no pipeline needs that"
        )


def _what_writers_can_do(signatures: Signatures) -> str:
    if signatures.required:
        return "fill it with what nobody has signed"
    unowned = _unowned(signatures)
    if unowned:
        return f"remove policies of collection {unowned[0]}, which has no owners, after the notice"
    return "add policies, which cost noise up to the limits"


def _unowned(signatures: Signatures) -> list[str]:
    return [one.id for one in signatures.document.policies.collections if not one.owned]
