"""Read back what a state released so far, law by law, and compute what readers know of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fugu.dataflows.base.errors import NEW_PIPELINE, ConfigurationError, StartRefused
from fugu.dataflows.commands.output import Terminal
from fugu.dataflows.commands.published import Streams, published_symbols
from fugu.dataflows.flows.carrying_over import CarriedOver
from fugu.dataflows.flows.former_laws import present_law
from fugu.dataflows.flows.found_partitioner import partitioner_of_reading
from fugu.dataflows.flows.stopped_state import StoppedState
from fugu.dataflows.kafka.client import Bounds, Client
from fugu.dataflows.kinds import AlphabetOperator
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.pipeline.secrets import read_keys
from fugu.dataflows.pipeline.topics import bounds_of
from fugu.dataflows.publishing.envelope import Pseudonyms
from fugu.dataflows.state.fingerprint import FormerLaw
from fugu.operators.budget import without_budget
from fugu.operators.carrying.carry import refuse_replay
from fugu.operators.carrying.replayed_belief import Span, replayed
from fugu.operators.mechanism import EnumerableMechanism, Mechanism, State
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse


@dataclass(frozen=True)
class _Period:
    """Hold what one law released, under the keys with which it was published."""

    file: PipelineFile
    mechanism: Mechanism
    streams: Streams

    def span(self, keys: Sequence[bytes]) -> Span:
        """Return the releases of these keys."""
        operator, law = self.file.pipeline.operator, without_budget(self.mechanism)
        assert isinstance(operator, AlphabetOperator)
        assert isinstance(law, EnumerableMechanism)
        symbols: Sequence[object] = operator.alphabet
        other = None if operator.other is None else symbols.index(operator.other)
        names = self._names(keys)
        released = [np.array(self.streams.get(name, []), dtype=np.int64) for name in names]
        return Span(law, symbols, other, released)

    def _names(self, keys: Sequence[bytes]) -> Sequence[bytes]:
        sink = self.file.pipeline.sink
        if sink.key == "original":
            return keys
        pseudonyms = Pseudonyms(read_keys(self.file).pseudonyms, sink.topic)
        return [pseudonyms.of(key) for key in keys]


@dataclass(frozen=True)
class ReleasedBefore:
    """Hold all periods, oldest first, and the law that comes."""

    periods: Sequence[_Period]
    carried: CarriedOver

    def rows_of(self, keys: list[bytes], before: State) -> State:
        """Return rows of the next law; `StartRefused` unless all releases are there."""
        if not keys:
            return self.carried.rows(before, before)
        crr, operator = without_budget(self.carried.becomes), self.carried.after.pipeline.operator
        assert isinstance(crr, ConditionalRandomizedResponse)
        assert isinstance(operator, AlphabetOperator)
        spans = [period.span(keys) for period in self.periods]
        found, state = replayed(spans, crr, operator.alphabet)
        missing = int((found["spent"] != before["spent"]).sum())
        if missing:
            raise StartRefused(
                f"topic {self.carried.before.pipeline.sink.topic} does not hold all releases of "
                f"{missing} streams any more, so what its readers know cannot be computed. "
                f"Restore the topic, or {NEW_PIPELINE}."
            )
        return self.carried.rows(before, state)


def released_before(
    console: Terminal,
    client: Client,
    state: StoppedState,
    carried: CarriedOver,
    earlier: Sequence[PipelineFile],
) -> ReleasedBefore:
    """Read all sanitized topics of a state; `earlier` are files of the laws before the last."""
    known = [(file, configure(file).mechanism) for file in [carried.before, *earlier]]
    laws = [*state.first.former, present_law(state.fingerprints)]
    if any(laws[0].sink_begin.values()):
        raise StartRefused(
            f"topic {laws[0].sink_topic} holds releases from before the state was rebuilt, whose "
            "law it does not name. What readers know cannot be computed; keep the operator, or "
            "choose one without a model."
        )
    periods = []
    for law in laws:
        found = next((one for one in known if _released(*one, law)), None)
        if found is None:
            raise ConfigurationError(
                f"the state was released with {law.operator}, version {law.version}, into topic "
                f"{law.sink_topic} before, under parameters that are in none of the files. Add the "
                "file of that time: --earlier FILE"
            )
        _refuse_what_cannot_be_replayed(*found, carried)
        periods.append(_period(console, client, *found, law))
    return ReleasedBefore(periods, carried)


def _released(file: PipelineFile, mechanism: Mechanism, law: FormerLaw) -> bool:
    """Return whether a file is the one of a law: it reads records and names streams as then."""
    sink = file.pipeline.sink
    return (
        mechanism.law_digest().hex() == law.law
        and (sink.topic, sink.key) == (law.sink_topic, law.sink_key)
        and partitioner_of_reading(file, law.reading) is not None
    )


def _refuse_what_cannot_be_replayed(
    file: PipelineFile, mechanism: Mechanism, carried: CarriedOver
) -> None:
    """Check every law so far: a later one does not make up for what an earlier one left out."""
    try:
        refuse_replay(mechanism, carried.becomes)
    except ValueError as error:
        raise ConfigurationError(f"{file.path}: {error}") from None
    if file.pipeline.source.fields != carried.after.pipeline.source.fields:
        raise ConfigurationError(
            f"{file.path}: source.value: earlier releases are about another field, and what "
            "readers know of that cannot be carried over; write the earlier field"
        )


def _period(
    console: Terminal, client: Client, file: PipelineFile, mechanism: Mechanism, law: FormerLaw
) -> _Period:
    if file.pipeline.sink.key == "none":
        raise ConfigurationError(
            "sink.key: is none, and releases without keys do not say which stream they are of, so "
            "that what readers know cannot be carried over"
        )
    topic = client.topic(law.sink_topic)
    if topic is None or topic.identity != law.sink_identity:
        raise StartRefused(
            f"topic {law.sink_topic} was deleted, or created anew, so what its readers know cannot "
            "be computed. Keep the operator, or choose one without a model."
        )
    now = bounds_of(client, topic, sorted(map(int, law.sink_begin)))
    between = {
        partition: Bounds(bound.start, law.sink_end.get(str(partition), bound.end))
        for partition, bound in now.items()
    }
    begun = {
        partition: Bounds(max(bound.start, law.sink_begin[str(partition)]), bound.end)
        for partition, bound in between.items()
    }
    streams = Streams()
    for _, found in published_symbols(console, client, file, mechanism, begun):
        for key, symbols in found.items():
            streams.setdefault(key, type(symbols)(symbols.typecode)).extend(symbols)
    return _Period(file, mechanism, streams)
