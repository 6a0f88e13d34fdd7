"""Define stages: what is done with the records of a partition and the rows of their keys."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Generic, Protocol, TypeVar

from fugu.dataflows.base.batches import DeadLetters, Decoded, Sanitized
from fugu.dataflows.stages.admission import Admission
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Array, ExhaustibleMechanism, Mechanism, State
from fugu.operators.randomness import DrawScope
from fugu.operators.temporal.temporal_perturbation import End


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
