"""Operators over all users of a topic: counts or sums by group and tick of event time."""

from abc import ABC, abstractmethod
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from fugu.dataflows.base.section import Epsilon, Section
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.kinds.alphabets import Alphabet
from fugu.dataflows.kinds.correlation import Correlation, FlagsSection
from fugu.dataflows.kinds.numbers import RangeSection
from fugu.dataflows.kinds.ticks import EventTimeTicks
from fugu.dataflows.records.contributions import Figures
from fugu.operators.wevent.limits import LARGEST_VALUE

Strategy = Literal[
    "uniform",
    "sample",
    "budget_distribution",
    "budget_absorption",
    "pba",
    "fast",
    "rescue_dp",
    "binary_tree",
    "quantified",
]
_OF_ONE_KIND = {
    "flags": {"pba"},
    "samples": {"fast"},
    "process_variance": {"rescue_dp"},
    "horizon": {"binary_tree", "quantified"},
}
_LARGEST_UNITS = 2**32
"""Of one contribution, so that a sum over all users fits."""


_LARGEST_GROUPS_OF_SUMS = 90_000
"""Exact sums of so many groups fit a Kafka message of a megabyte, however large they are."""


class TickSection(EventTimeTicks):
    """Ticks of event time; a record more than `max_jump` of them ahead is refused."""

    max_jump: int = Field(default=100, ge=1)


class Amounts(RangeSection):
    """What is summed: a number of each record, clamped to a range."""

    field: str

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.largest_units > _LARGEST_UNITS:
            raise ValueError("lower and upper: at most 2^32 units, so that sums can be counted")
        return self

    @property
    def largest_units(self) -> int:
        """What one contribution amounts to at most, whatever its sign."""
        return max(abs(self.in_units(self.lower)), abs(self.in_units(self.upper)))


class AggregateOperator(Section, ABC):
    """How many users were in each group of a tick, or what they amount to, released with noise.

    `source.value` names the field that holds the group; without `groups` everybody is in one.
    """

    reads: ClassVar[frozenset[str]] = frozenset({"groups", "other", "sum", "ticks"})

    kind: str
    groups: Alphabet | None = None
    other: str | int | None = None

    @model_validator(mode="after")
    def _check_other(self) -> Self:
        if self.other is not None and self.other not in (self.groups or []):
            raise ValueError("other: must be one of groups; unknown groups become it")
        return self

    @property
    @abstractmethod
    def units_per_one(self) -> int:
        """How many units make 1: figures are integers, which count units."""

    @property
    @abstractmethod
    def largest_contribution(self) -> int:
        """What a user may contribute to a tick, in units, whatever its sign."""

    @property
    @abstractmethod
    def statistic(self) -> str:
        """What is counted or summed, for people."""

    @property
    @abstractmethod
    def sensitivity(self) -> int:
        """By how many units, over all groups, one contribution can change a tick (L1)."""

    @abstractmethod
    def in_ticks(self) -> Ticks:
        """Ticks of event time."""

    @abstractmethod
    def parameters(self) -> dict[str, object]:
        """What people want to see of it."""

    @abstractmethod
    def how_to_read(self) -> list[str]:
        """What an analyst must know of the output."""

    def refuse_large_sums(self, people: int) -> None:
        """`ValueError` if contributions of so many people may add up to more than is counted."""
        if people * self.largest_contribution > LARGEST_VALUE:
            raise ValueError(
                f"state.max_keys: {people:,} users who contribute up to "
                f"{self.largest_contribution:,} units each could add up to more than 2^44 units in "
                f"a tick, beyond which figures are cut off. Lower state.max_keys to "
                f"{LARGEST_VALUE // self.largest_contribution:,} or less, or make the range of the "
                "sum smaller (lower, upper), or its unit larger"
            )

    def covers(self, key: bytes) -> bool:
        """Whether the records of this key may count."""
        return True

    @property
    def sets(self) -> bool:
        """Whether a user may count in several groups of a tick."""
        return False

    @property
    def group_count(self) -> int:
        """How many figures a tick has."""
        return 1 if self.groups is None else len(self.groups)

    def figures(self) -> Figures:
        """How releases are written."""
        return Figures(self.groups, units_per_one=self.units_per_one)

    def in_words(self) -> dict[str, object]:
        """What is counted or summed, when, and what a user contributes."""
        ticks = self.in_ticks()
        return {
            "statistic": self.statistic
            + f", in each of {self.group_count:,} groups" * (self.groups is not None),
            "ticks": ticks.in_words,
            "stream time": ticks.time.in_words,
            "too far ahead": ticks.silence_in_words,
            "a user counts": "once in a tick: the latest record by offset",
            "one contribution changes a tick by": f"{self.sensitivity:,} units at most",
        }


class DeclaredAggregate(AggregateOperator):
    """An aggregate whose section says what is counted in which ticks. What `protects` says decides
    the noise: a user's contribution to a tick, which may have been another one or none; or only
    whether there was one.
    """

    ticks: TickSection
    sum: Amounts | None = None
    protects: Literal["contribution", "presence"] = "contribution"

    @model_validator(mode="after")
    def _check_groups(self) -> Self:
        if self.sum is not None and self.group_count > _LARGEST_GROUPS_OF_SUMS:
            raise ValueError(f"groups: with sum at most {_LARGEST_GROUPS_OF_SUMS:,}; merge some")
        return self

    @property
    def units_per_one(self) -> int:
        """As declared."""
        return 1 if self.sum is None else self.sum.units_per_one

    @property
    def largest_contribution(self) -> int:
        """One user, or the end of the range that is farther from 0."""
        return 1 if self.sum is None else self.sum.largest_units

    @property
    def statistic(self) -> str:
        """Users, or what they amount to."""
        return "how many users" if self.sum is None else f"the sum of {self.sum.field}"

    @property
    def sensitivity(self) -> int:
        """By how many units, over all groups, one contribution can change a tick (L1)."""
        if self.sum is None:
            return 2 if self.group_count > 1 and self.protects == "contribution" else 1
        lower, upper = self.sum.in_units(self.sum.lower), self.sum.in_units(self.sum.upper)
        largest = self.sum.largest_units
        if self.protects == "presence":
            return largest
        return 2 * largest if self.group_count > 1 else max(largest, upper - lower)

    def in_ticks(self) -> Ticks:
        """Ticks of event time."""
        ticks = self.ticks
        return Ticks(*ticks.milliseconds, ticks.max_jump, time=ticks.stream_time.as_declared)


class WEventOperator(DeclaredAggregate):
    """An aggregate with a budget for any `window` ticks in a row."""

    kind: Strategy
    epsilon: Annotated[Epsilon, Field(le=50)] | None = None
    window: int = Field(ge=1, le=100_000)
    correlation: Correlation | None = None
    flags: FlagsSection = False
    samples: int | None = None
    process_variance: Annotated[float, Field(gt=0, le=1e18, strict=False)] | None = None
    horizon: int | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name, kinds in _OF_ONE_KIND.items():
            if name in self.model_fields_set and self.kind not in kinds:
                raise ValueError(f"{name}: {self.kind} does not have it; delete it")
        quantified, limit = self.kind == "quantified", self.correlation and self.correlation.at_most
        if quantified and (limit is None or self.epsilon is not None):
            raise ValueError(
                "correlation: quantified takes its budgets from correlation.at_most; add it, and "
                "delete epsilon"
            )
        if not quantified and self.epsilon is None:
            raise ValueError("epsilon: is required; add it")
        if self.kind == "binary_tree" and self.horizon is None:
            raise ValueError("horizon: binary_tree needs it, in ticks")
        if self.kind == "binary_tree" and self.correlation is not None:
            raise ValueError(
                "correlation: a total of binary_tree is about many ticks, and what it tells about "
                "one of them is not known; delete it"
            )
        return self

    def parameters(self) -> dict[str, object]:
        """What people want to see of it."""
        return {
            **self.in_words(),
            "epsilon": (
                "as correlation.at_most allows"
                if self.epsilon is None
                else f"{self.epsilon:g} nats in any {self.window} ticks in a row"
            ),
        }

    def how_to_read(self) -> list[str]:
        """What an analyst must know of the output."""
        return [
            "value is the true figure plus noise where published is true, and the last published "
            "one elsewhere; it may be negative.",
            "records that came late, and users beyond state.max_keys, are not in the figures.",
        ]
