"""Define stages: what is done with the records of a partition, and who may have a row."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Generic, Protocol, TypeVar

from fugu.dataflows.base.batches import DeadLetters, Decoded, Reason, Sanitized
from fugu.dataflows.kafka.partitioner import Partitioner, partitions_of
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.budget import without_budget
from fugu.operators.columns import encode_fields, selected
from fugu.operators.mechanism import (
    Array,
    ExhaustibleMechanism,
    HoldingMechanism,
    Mechanism,
    Releases,
    State,
)
from fugu.operators.randomness import DrawScope
from fugu.operators.temporal.temporal_perturbation import End, TemporalPerturbation

NEARLY_ALL = 0.9
"""The share of the rows from which on an operator is told that they run out."""


@dataclass(frozen=True)
class Admission:
    """Admit keys that belong to a partition of a topic with so many `partitions`, up to `max_keys`
    rows of one partition. Where policies are for some keys only, `covers` knows them. Of some keys
    nobody knows what they have spent: `are_strangers` tells them, if there are any.

    One user is one stream only if all records of a user meet in one partition, so the partition of
    a new key is computed again. And a table must not grow without bound, although no row is dropped
    while its budget still counts: beyond `max_keys` a new key is refused, and everybody known goes
    on.
    """

    partitioner: Partitioner
    partitions: int
    max_keys: int
    covers: Callable[[bytes], bool] = lambda key: True
    are_strangers: Callable[[Sequence[bytes]], Sequence[bool]] | None = None

    def refusals(self, table: RowTable, partition: int, keys: Sequence[bytes]) -> dict[int, Reason]:
        """Return index and reason of every record that is not admitted, in order."""
        refused: dict[int, Reason] = {}
        room = self.max_keys - len(table)
        admitted: set[bytes] = set()
        unknown = table.unknown(keys)
        new = selected(keys, unknown)
        belong, strange = self._belong(new, partition), self._strange(new)
        for index, key, belongs, is_strange in zip(unknown, new, belong, strange, strict=True):
            if key in admitted:
                continue
            reason = self._refusal(key, belongs, is_strange)
            if reason is not None:
                refused[index] = reason
            elif len(admitted) >= room:
                refused[index] = Reason.TOO_MANY_KEYS
            else:
                admitted.add(key)
        return refused

    def refusal(self, partition: int, key: bytes) -> Reason | None:
        """Return why a new key may have no row, however many there are."""
        return self._refusal(key, self._belong([key], partition)[0], self._strange([key])[0])

    def _refusal(self, key: bytes, belongs: bool, is_strange: bool) -> Reason | None:
        if not belongs:
            return Reason.WRONG_PARTITION
        if is_strange:
            return Reason.UNKNOWN_BUDGET
        return None if self.covers(key) else Reason.NO_COLLECTION

    def _strange(self, keys: Sequence[bytes]) -> Sequence[bool]:
        return [False] * len(keys) if self.are_strangers is None else self.are_strangers(keys)

    def _belong(self, keys: Sequence[bytes], partition: int) -> list[bool]:
        """Return which keys producers send to a partition."""
        if self.partitioner == "unchecked" or not len(keys):
            return [True] * len(keys)
        here = partitions_of(keys, self.partitions, self.partitioner) == partition
        belong: list[bool] = here.tolist()
        return belong


class Result(Protocol):
    """Describe what comes of a batch of one partition, refused records among it."""

    @property
    def partition(self) -> int: ...

    @property
    def dead(self) -> DeadLetters: ...


Made = TypeVar("Made", bound=Result)


class Stage(ABC, Generic[Made]):
    """Turn batches of one partition into results, by rows of a table that every key has one of."""

    @cached_property
    def ends(self) -> ExhaustibleMechanism | None:
        """Return how rows come to an end, if they do."""
        return None

    def holds(self, table: RowTable) -> bool:
        """Return whether values wait for later records, which close their ticks."""
        return False

    def is_crowded(self, table: RowTable) -> bool:
        """Return whether new keys will soon find no row that is free, where rows become free."""
        return False

    @abstractmethod
    def start(self, rows: int) -> State:
        """Return the columns of fresh rows."""

    @abstractmethod
    def __call__(self, decoded: Decoded, table: RowTable) -> Made:
        """Take one batch in, in order."""

    @abstractmethod
    def finish(self, partition: int, table: RowTable, end: End) -> Made:
        """Let out or discard what was held back, after the last record."""


@dataclass(frozen=True)
class StreamStage(Stage[Sanitized]):
    """Run one mechanism over the streams of one partition of the topic identified by `source`."""

    mechanism: Mechanism
    scope: DrawScope
    source: str
    admission: Admission

    in_ticks: ClassVar[bool]
    """Say whether releases belong to ticks, and not to records."""

    def warm_up(self, values: Array) -> Sanitized | None:
        """Compile what is to be compiled, so that no record waits for it; return what it made."""
        return None

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        return tuple(self.mechanism.start(0))

    def own(self, state: State) -> State:
        """Return the columns of the mechanism among those of a row."""
        return {name: state[name] for name in self._columns}


log = logging.getLogger(__name__)


def holding(mechanism: Mechanism) -> HoldingMechanism | None:
    """Return the mechanism, with its budget, if it releases several records together."""
    held = isinstance(without_budget(mechanism), HoldingMechanism)
    return mechanism if held and isinstance(mechanism, HoldingMechanism) else None


def end_epochs(
    stage: StreamStage,
    mechanism: TemporalPerturbation,
    place: tuple[int, Sequence[bytes]],
    state: State,
    end: End,
) -> tuple[State, tuple[Releases, ...]]:
    """Return the next epoch of every row, and what leaves before it, tick by tick.

    To discard is to publish nothing more, so that every value that was published has the delay law
    of the steady state; how many values that drops is logged. `place`: the partition, and the keys
    of the rows.
    """
    (partition, keys), own = place, stage.own(state)
    if end == "drain":
        epochs = own["epoch"].tolist()
        ends = [encode_fields("end of epoch", stage.source, partition, epoch) for epoch in epochs]
        return mechanism.finish(own, stage.scope.draws(keys, ends))
    after, dropped = mechanism.discard(own)
    log.info(
        "partition %d: %d values that were held back are dropped (operator.end is discard)",
        partition,
        dropped.sum(),
        extra={"partition": partition},
    )
    return after, ()
