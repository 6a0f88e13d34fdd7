"""Name what a state belongs to: written before a first record is read, checked at each start.

A mismatch would reset budgets or release one truth twice, so the program refuses and says what to
do.
"""

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from fugu.dataflows.base.errors import NEW_PIPELINE, OVER_NEW_RECORDS, OtherVersion, StartRefused

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
    there were when an aggregate began, if that changed since; its log says when.
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
_IN_AGGREGATE = (
    "What was spent stays in the state, and nothing more is released from it. An aggregate cannot "
    "be migrated: restore the topic itself, with its topic id, and the pipeline goes on with all "
    "budgets. Otherwise let producers write to a new source topic, and start a new pipeline over "
    "it with a new name, state and sink topic: what both release about a person adds up, and with "
    "the same ledger.topic fugu ledger shows the sum"
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
    "source_identity": f"so offsets name other records now; {OVER_NEW_RECORDS}",
    "partitions": "the topic was created again with fewer partitions; " + OVER_NEW_RECORDS,
    "sink_topic": "releases already published are in another topic; correct sink.topic, or go on "
    "in a new one with fugu migrate OLD NEW",
    "sink_identity": _AGAIN,
    "sink_key": "set sink.key back, or change it with fugu migrate OLD NEW",
    "dead_letters_topic": "set sink.dead_letters back, or change it with fugu migrate OLD NEW",
    "ledger_topic": "set ledger.topic back, or add one with fugu migrate OLD NEW",
    "ledger_identity": _AGAIN,
    "origin_topic": "the state is about another source topic; correct source.topic, or "
    + NEW_PIPELINE,
    "origin_identity": f"so offsets name other records now; {OVER_NEW_RECORDS}",
    "dead_letters_identity": _AGAIN,
}
NOT_IN_KAFKA = (
    "These commands change a state on disk alone. With state.store: kafka, restore what changed, "
    "and the pipeline goes on. If it is to change: stop all copies, move the state to disk with "
    "fugu state move OLD NEW, of which OLD is the file that ran last, run the command there, and "
    "move the state into Kafka again, into another state.topic."
)
"""Follows advice that is for states on disk."""
_ON_DISK = "fugu migrate", "fugu state"
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
        if before != now and name.endswith("_identity"):
            advice = _made_anew(name.removesuffix("_identity"), current, advice)
        if before != now:
            shown = (
                "" if name in _NEVER_SHOWN else f" ({_topic(name, current)}was {before}, is {now})"
            )
            problems.append(f"{name} changed{shown}: {advice}.")
    if in_kafka and any(command in one for one in problems for command in _ON_DISK):
        problems.append(NOT_IN_KAFKA)
    return problems


def _topic(name: str, current: Fingerprint) -> str:
    """Say whose identity it is: the source of a dataflow is not always that of the pipeline."""
    role = name.removesuffix("_identity")
    return "" if role == name else f"topic {getattr(current, f'{role}_topic')}: "


def _made_anew(role: str, current: Fingerprint, advice: str) -> str:
    """Say which topic was made anew, and what keeps the budgets: the topics of a dataflow are not
    always those of the pipeline."""
    first, sums = current.steps[0], "partials" in current.steps
    names = {
        "source": "the source topic",
        "sink": "the sink topic",
        "dead_letters": "the dead-letter topic",
        "ledger": "the ledger topic",
        "origin": "the source topic",
    }
    if first == "policies":
        names["source"] = "the topic of policies (source.policies)"
    elif first == "log":
        names["source"] = "the internal log (sink.partials)"
    elif current.origin_topic:
        names["source"] = "the topic of records by user (source.key.repartition)"
    if first == "policies" or sums:
        names["sink"] = "the internal log (sink.partials)"
    reads_source = first not in ("policies", "log") and role in ("source", "origin")
    if (sums or first in ("policies", "log")) and not reads_source:
        return f"{names[role]} was deleted and created again. {_IN_AGGREGATE}"
    joint = ", " if reads_source else "; "
    return f"{names[role]} was deleted and created again{joint}{advice}"
