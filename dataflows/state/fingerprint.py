"""Name what a state belongs to: written before a first record is read, checked at each start.

A mismatch would reset budgets or release one truth twice, so the program refuses and says what to
do.
"""

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from fugu.dataflows.base.errors import (
    NEW_PIPELINE,
    OVER_NEW_RECORDS,
    OtherVersion,
    StartRefused,
)

FORMAT: Final = 3
"""The format that this version writes, and the only one that it reads."""


class FormerLaw(BaseModel):
    """Name a law under which the same streams were released before, and where its releases are.

    The sink has them in every partition from `sink_begin` on, before `sink_end`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    operator: str
    law: str
    version: int
    source_begin: dict[str, int]
    sink_topic: str
    sink_identity: str
    sink_begin: dict[str, int]
    sink_end: dict[str, int]
    reading: str = ""
    sink_key: str = ""


class Fingerprint(BaseModel):
    """Hold everything that must stay the same while a state is continued.

    Remembered, not compared: `source_begin`, `sink_begin`, `dead_letters_begin` and `ledger_begin`,
    where every partition began when the pipeline was created, and begins again until the first
    snapshot;
    `rotated_at`, the first source offset of every partition that is drawn with the key of epoch 1,
    2, ...; `former`, where earlier releases are, and their laws, oldest first. `redriven` counts
    how often refused records were driven again; `strangers` are pseudonyms, by sink topic, of
    streams of which nobody knows what they have spent. `partitions_begun` is how many partitions
    there were when an aggregate began, if that changed since; its log says when. `sealed` says that
    the internal log of an aggregate holds no own entry without a seal.
    The source may be an internal topic, whose records come from the topic of `origin`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    format: Literal[3] = FORMAT
    pipeline: str
    steps: list[str]
    operator: str
    implementation: int
    law: str
    reading: str
    version: int
    key_epoch: int
    secret_check: str
    shard: int
    shards: int
    source_topic: str
    source_identity: str
    partitions: int
    sink_topic: str
    sink_identity: str
    sink_key: str
    dead_letters_topic: str
    dead_letters_identity: str
    ledger_topic: str
    ledger_identity: str
    source_begin: dict[str, int]
    sink_begin: dict[str, int]
    dead_letters_begin: dict[str, int]
    ledger_begin: dict[str, int]
    rotated_at: list[dict[str, int]] = []
    former: list[FormerLaw] = []
    redriven: int = 0
    strangers: dict[str, list[str]] = {}
    partitions_begun: int = 0
    origin_topic: str = ""
    origin_identity: str = ""
    sealed: bool = False

    @property
    def partitions_at_first(self) -> int:
        """Return how many partitions there were when the pipeline began."""
        return self.partitions_begun or self.partitions

    @property
    def own_partitions(self) -> list[int]:
        """Return the partitions of this shard: every `shards`-th one."""
        return list(range(self.shard, self.partitions, self.shards))

    @property
    def identities(self) -> dict[str, str]:
        """Return the identity of every topic, by name."""
        topics = {
            self.source_topic: self.source_identity,
            self.sink_topic: self.sink_identity,
            self.dead_letters_topic: self.dead_letters_identity,
            self.ledger_topic: self.ledger_identity,
            self.origin_topic: self.origin_identity,
        }
        return {name: identity for name, identity in topics.items() if name}


_MIGRATE = (
    "Restore the file as it was, stop the pipeline with it, and run fugu migrate OLD NEW with it "
    "and the new file: it carries all budgets over, or says why it cannot"
)
_AGAIN = (
    "if the pipeline had stopped gracefully before, fugu migrate PIPELINE PIPELINE goes on with "
    "the new one and all budgets. Otherwise " + NEW_PIPELINE
)
_ADVICE = {
    "pipeline": "this state belongs to another pipeline; correct name, state.directory or "
    "state.topic; or, if it is to have another name, run fugu migrate OLD NEW",
    "steps": "this version of Fugu names the dataflow's steps otherwise, which would drop their "
    "state; run the version that wrote the state, or " + NEW_PIPELINE,
    "operator": _MIGRATE,
    "implementation": "another version of Fugu wrote the state, and this version cannot read it; "
    "run the version that wrote it, or " + NEW_PIPELINE,
    "law": "epsilon, alphabet, model or budget changed (or window, threshold, warm_up or empty of "
    "a temporal operator). " + _MIGRATE,
    "reading": "source.value, timestamp, partitioner or dedupe, or operator.alphabet, other, ticks "
    "or when_null changed, so the same records would be read as others. If it is partitioner "
    "alone, stop with the old one and run fugu state repartition. Otherwise: " + _MIGRATE,
    "version": _MIGRATE,
    "key_epoch": "the state was rotated to another key; use the key file that fugu state rotate "
    "wrote, with encoding: keys. If the rotation was interrupted, run fugu state rotate again",
    "secret_check": "the secret is not the one this state was made with; restore the old one, with "
    "which fugu state rotate goes over to another key and keeps all budgets. If it is lost, "
    + NEW_PIPELINE,
    "shard": "this directory belongs to another shard; restore the layout of state.directory",
    "shards": "set state.shards back, or run fugu state repartition, which moves all streams",
    "source_topic": "the state is about another source topic; correct source.topic, or "
    + NEW_PIPELINE,
    "source_identity": "the source topic was deleted and created again, so offsets name other "
    f"records now; {OVER_NEW_RECORDS}",
    "partitions": "the topic was created again with fewer partitions; " + OVER_NEW_RECORDS,
    "sink_topic": "releases already published are in another topic; correct sink.topic, or go on "
    "in a new one with fugu migrate OLD NEW",
    "sink_identity": "the sink topic was deleted and created again; " + _AGAIN,
    "sink_key": "set sink.key back, or change it with fugu migrate OLD NEW",
    "dead_letters_topic": "set sink.dead_letters back, or change it with fugu migrate OLD NEW",
    "ledger_topic": "set ledger.topic back, or add one with fugu migrate OLD NEW",
    "ledger_identity": "the ledger topic was deleted and created again; " + _AGAIN,
    "origin_topic": "the state is about another source topic; correct source.topic, or "
    + NEW_PIPELINE,
    "origin_identity": "the source topic was deleted and created again, so offsets name other "
    f"records now; {OVER_NEW_RECORDS}",
    "dead_letters_identity": "the dead-letter topic was deleted and created again; " + _AGAIN,
}
NOT_IN_KAFKA = (
    "These commands change a state on disk alone. With state.store: kafka, restore what changed, "
    "and the pipeline goes on. If it is to change: stop all copies, move the state to disk with "
    "fugu state move OLD NEW, of which OLD is the file that ran last, run the command there, and "
    "move the state into Kafka again, into another state.topic."
)
"""Follows advice that is for states on disk."""
_NEVER_SHOWN = {"law", "reading", "secret_check"}


def read_fingerprint(said: object, where: str) -> Fingerprint:
    """Return what `where` says; `ValidationError` where it is damaged.

    Raises `OtherVersion` where another version of Fugu wrote it.
    """
    found = said.get("format") if isinstance(said, dict) else None
    if isinstance(found, int) and found != FORMAT:
        raise OtherVersion(where, found, FORMAT)
    return Fingerprint.model_validate(said)


def check_same(stored: Fingerprint, current: Fingerprint, *, in_kafka: bool = False) -> None:
    """Refuse, naming every field that changed, unless both are the same pipeline.

    Another implementation has another law, of which nothing is said beside it.
    """
    if problems := changes(stored, current, in_kafka=in_kafka):
        raise StartRefused("refusing to start: " + "\n".join(problems))


def changes(stored: Fingerprint, current: Fingerprint, *, in_kafka: bool) -> list[str]:
    """Return every field that changed, and what to do about it."""
    problems = []
    another = stored.implementation != current.implementation
    for name, advice in _ADVICE.items():
        if name == "law" and another:
            continue
        before, now = getattr(stored, name), getattr(current, name)
        if before != now:
            shown = (
                "" if name in _NEVER_SHOWN else f" ({_topic(name, current)}was {before}, is {now})"
            )
            problems.append(f"{name} changed{shown}: {advice}.")
    if problems and in_kafka:
        problems.append(NOT_IN_KAFKA)
    return problems


def _topic(name: str, current: Fingerprint) -> str:
    """Say whose identity it is: the source of a dataflow is not always that of the pipeline."""
    role = name.removesuffix("_identity")
    return "" if role == name else f"topic {getattr(current, f'{role}_topic')}: "
