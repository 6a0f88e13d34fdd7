"""Compare two versions of a pipeline: what may change while its streams go on, and how they do."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

import orjson

from fugu.dataflows.base.errors import ConfigurationError, StartRefused
from fugu.dataflows.flows.sections import is_merged
from fugu.dataflows.kinds import AlphabetOperator
from fugu.dataflows.pipeline.config import PipelineFile, reading_digest
from fugu.dataflows.pipeline.mechanisms import columns_of, configure
from fugu.dataflows.pipeline.secrets import read_keys
from fugu.dataflows.stages.per_record import exhaustible
from fugu.dataflows.state.fingerprint import Fingerprint
from fugu.dataflows.state.row_table import Start
from fugu.operators.carrying.carry import Carry, carry_between, places_of
from fugu.operators.mechanism import Array, ExhaustibleMechanism, Integers, Mechanism, State


@dataclass(frozen=True)
class CarriedOver:
    """Hold two versions of one pipeline, and how streams go from one to the other."""

    before: PipelineFile
    after: PipelineFile
    carry: Carry

    @property
    def was(self) -> Mechanism:
        """Return the mechanism of before."""
        return self.carry.was

    @property
    def becomes(self) -> Mechanism:
        """Return the next mechanism."""
        return self.carry.becomes

    @property
    def digest(self) -> str:
        """Return a digest of all that a migration writes down of both files."""
        versions = (self.before.pipeline, self.was), (self.after.pipeline, self.becomes)
        files = [
            {
                "name": pipeline.name,
                "version": pipeline.version,
                "law": mechanism.law_digest().hex(),
                "reading": reading_digest(pipeline),
                "source": [pipeline.source.topic, str(pipeline.source.declared_budget)],
                "sink": pipeline.sink.model_dump(mode="json"),
                "ledger": pipeline.ledger and pipeline.ledger.topic,
                "state": [pipeline.state.shards, pipeline.state.control],
            }
            for pipeline, mechanism in versions
        ]
        return blake2b(orjson.dumps(files), digest_size=16).hexdigest()

    def rows(self, before: State, replayed: State | None = None) -> State:
        """Return rows with all columns: those of the mechanism, and those that are kept beside."""
        count = len(next(iter(before.values())))
        fresh = columns_of(self.after.pipeline, self.becomes)(count)
        beside = fresh.keys() - self.becomes.start(0).keys()
        kept = {name: _fitted(before[name], fresh[name]) for name in beside & before.keys()}
        return {**fresh, **kept, **self.carry.rows(before, replayed)}

    def rows_of(self, keys: list[bytes], before: State) -> State:
        """Return rows with all columns, where no release has to be read back."""
        return self.rows(before)

    def table(self) -> tuple[Start, ExhaustibleMechanism | None]:
        """Return what a table of the next rows is made with."""
        return columns_of(self.after.pipeline, self.becomes), exhaustible(self.becomes)

    def require_state_of(self, stored: Fingerprint) -> None:
        """Refuse a state that was not written by the old file."""
        pipeline, sink = self.before.pipeline, self.before.pipeline.sink
        expected = {
            "name": (stored.pipeline, pipeline.name),
            "operator, its parameters, or budget": (stored.law, self.was.law_digest().hex()),
            "version": (stored.version, pipeline.version),
            "secret": (stored.secret_check, read_keys(self.before).noise.check_value()),
            "source.topic": (stored.source_topic, pipeline.read_topic),
            "sink.topic": (stored.sink_topic, sink.topic),
            "sink.key": (stored.sink_key, sink.key),
            "sink.dead_letters": (stored.dead_letters_topic, sink.dead_letter_topic),
            "source.value, timestamp, partitioner or dedupe, or operator.alphabet": (
                stored.reading,
                reading_digest(pipeline),
            ),
        }
        wrong = [name for name, (found, wanted) in expected.items() if found != wanted]
        if wrong:
            raise StartRefused(
                f"the state was not written by {self.before.path}: {'; '.join(wrong)} differ. Give "
                "the file with which the pipeline ran last. Nothing was changed."
            )


def _fitted(before: Array, fresh: Array) -> Array:
    """Return a column of before in the width of now; of events, the newest are last."""
    if before.shape == fresh.shape:
        return before
    width = min(before.shape[1], fresh.shape[1])
    fitted = fresh.copy()
    fitted[:, fresh.shape[1] - width :] = before[:, before.shape[1] - width :]
    return fitted


def carried_over(before: PipelineFile, after: PipelineFile) -> CarriedOver:
    """Return how streams go on; `ConfigurationError` lists everything that may not change."""
    problems = list(_problems(before, after))
    was, becomes = configure(before).mechanism, configure(after).mechanism
    try:
        carry = carry_between(was, becomes, _places(before, after))
        problems += _reading_problems(before, after, carry)
    except ValueError as error:
        problems.append(str(error))
    if problems:
        raise ConfigurationError(f"{after.path}: " + "\n".join(problems))
    return CarriedOver(before, after, carry)


def _problems(before: PipelineFile, after: PipelineFile) -> Iterator[str]:
    old, new = before.pipeline, after.pipeline
    if is_merged(old) or is_merged(new):
        yield (
            "operator.kind: an aggregate cannot be migrated, because what it spends is shared out "
            "over ticks that its partitions have not reached together. Let producers write to a "
            "new topic, and start a new pipeline over it when this one has released its last "
            "tick; what both release adds up, and fugu ledger shows the sum"
        )
    if new.state.in_kafka:
        yield "state.store: must stay disk; fugu state move OLD NEW moves the state into Kafka"
    elif before.resolve(old.state.directory) != after.resolve(new.state.directory):
        yield f"state.directory: must be that of {before.path}"
    if (old.source.topic, old.read_topic) != (new.source.topic, new.read_topic):
        yield (
            "source.topic, or name with source.key.repartition: offsets of one topic "
            "say nothing about another one; start a pipeline of another name over it"
        )
    if old.source.key != new.source.key:
        yield (
            "source.key: must stay as it is, because streams and what they have spent are known "
            "by it: another field gives people other names, and everybody a new budget. Start a "
            "pipeline of another name over the topic; what both release adds up"
        )
    if old.ledger is not None and (new.ledger is None or new.ledger.topic != old.ledger.topic):
        yield f"ledger.topic: must stay {old.ledger.topic}, which holds what was promised"
    if read_keys(before).noise.check_value() != read_keys(after).noise.check_value():
        yield "secret: must stay as it is; fugu state rotate changes it"
    if new.version < old.version:
        yield f"version: must be {old.version} or more"


def _places(before: PipelineFile, after: PipelineFile) -> Integers | None:
    """Return where old symbols are in the new alphabet; None where something else is released."""
    old, new = before.pipeline.operator, after.pipeline.operator
    if not isinstance(old, AlphabetOperator) or not isinstance(new, AlphabetOperator):
        return None
    if before.pipeline.source.fields != after.pipeline.source.fields:
        return None
    return places_of(old.alphabet, new.alphabet)


def _reading_problems(before: PipelineFile, after: PipelineFile, carry: Carry) -> Iterator[str]:
    """Yield what may not change of how records are read, where readers have a belief."""
    if carry.form == "spent":
        return
    old, new = before.pipeline, after.pipeline
    if old.source.fields != new.source.fields:
        yield "source.value: what readers know is about the field of before"
    if carry.form == "kept" and (
        old.operator.model_dump(mode="json", by_alias=True, include=set(old.operator.reads))
        != new.operator.model_dump(mode="json", by_alias=True, include=set(new.operator.reads))
    ):
        yield (
            f"operator: {', '.join(sorted(old.operator.reads))} say how records are read, and "
            "must stay as they are"
        )
    in_time = old.operator.in_ticks() is not None or getattr(new.operator, "step", None) is not None
    if in_time and old.source.timestamp != new.source.timestamp:
        yield "source.timestamp: must stay as it is, because time between records counts"
    if old.operator.in_ticks() is not None and (
        old.source.partitioner != new.source.partitioner or old.state.shards != new.state.shards
    ):
        yield "source.partitioner, state.shards: every partition stands at ticks of its own"
