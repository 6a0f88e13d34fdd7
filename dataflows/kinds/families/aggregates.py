"""Share what figures over all users of a topic have in common: counts or sums by group and tick."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from fugu.dataflows.base.field_paths import FieldName
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.kinds.families.ranges import RangeSection
from fugu.dataflows.kinds.families.section import Evaluation, Noise, OperatorSection
from fugu.dataflows.kinds.families.symbols import Alphabet
from fugu.dataflows.kinds.families.ticks import EventTimeTicks
from fugu.dataflows.records.alphabet import Alphabet as Groups
from fugu.dataflows.records.contributions import Contributions, Figures
from fugu.dataflows.records.numbers import Numbers
from fugu.dataflows.records.values import Values
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.stages.stage_kind import StageKind
from fugu.dataflows.stages.summing import Summing
from fugu.operators.guarantee import CONTRIBUTIONS, PRESENCE
from fugu.operators.personal_cap import PersonalCap
from fugu.operators.wevent.allocation import LARGEST_VALUE

_LARGEST_UNITS = 2**32
"""Bound one contribution, so that a sum over all users fits."""
_LARGEST_GROUPS_OF_SUMS = 90_000
"""Exact sums of so many groups fit a Kafka message of a megabyte, however large they are."""


class TickSection(EventTimeTicks):
    """Declare ticks of event time; a record more than `max_jump` of them ahead is refused."""

    max_jump: int = Field(default=100, ge=1)
    """Say how many ticks a record may be ahead of those that are open."""


class Amounts(RangeSection):
    """Sum a number of each record, clamped to a range."""

    field: FieldName
    """The field of the number that is summed."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.largest_units > _LARGEST_UNITS:
            raise ValueError("lower and upper: at most 2^32 units, so that sums can be counted")
        return self

    @property
    def largest_units(self) -> int:
        """Return what one contribution amounts to at most, whatever its sign."""
        return max(map(abs, self.ends))


class AggregateOperator(OperatorSection):
    """Release with noise how many users were in each group of a tick, or what they amount to.

    `source.value` names the field that holds the group; without `groups` everybody is in one.
    """

    reads = frozenset({"groups", "other", "sum", "ticks"})
    stage = StageKind.AGGREGATE
    evaluation: ClassVar[Evaluation] = "windows"
    noise: ClassVar[Noise | None] = "laplace"
    claims_about = "all users together"
    no_budget = "epsilon is the budget of {kind}; delete it"
    no_dedupe = "a user counts once in a tick, however often a record was sent"

    groups: Alphabet | None = None
    """The groups that get a figure each; without it, there is one figure."""
    other: str | int | None = None
    """The group that counts values which are none of `groups`."""

    @model_validator(mode="after")
    def _check_other(self) -> Self:
        if self.other is not None and self.other not in (self.groups or []):
            raise ValueError("other: must be one of groups; unknown groups become it")
        return self

    @property
    @abstractmethod
    def units_per_one(self) -> int:
        """Return how many units make 1: figures are integers, which count units."""

    @property
    @abstractmethod
    def largest_contribution(self) -> int:
        """Return what a user may contribute to a tick, in units, whatever its sign."""

    @property
    @abstractmethod
    def statistic(self) -> str:
        """Say what is counted or summed."""

    @property
    @abstractmethod
    def sensitivity(self) -> int:
        """Return by how many units, over all groups, one contribution can change a tick (L1)."""

    @abstractmethod
    def in_ticks(self) -> Ticks:
        """Return the ticks of event time."""

    @property
    def personal_cap(self) -> PersonalCap | None:
        """Return in how many ticks of a period a user counts, if that is limited."""
        return None

    def summing(self, ticks: Ticks, admission: Admission) -> Summing:
        """Return the stage that sums what the users of a partition contribute."""
        return Summing(ticks, self.group_count, admission, self.sets, self.personal_cap)

    def not_covered(self, *, copies: bool, budget: bool, partials: str) -> list[str]:
        return [
            "whoever reads the topic of partial sums or the state: both hold exact figures "
            f"({partials})"
        ]

    def refuse_large_sums(self, people: int) -> None:
        if people * self.largest_contribution > LARGEST_VALUE:
            raise ValueError(
                f"state.max_keys: {people:,} users who contribute up to "
                f"{self.largest_contribution:,} units each could add up to more than 2^44 units in "
                f"a tick, beyond which figures are cut off. Lower state.max_keys to "
                f"{LARGEST_VALUE // self.largest_contribution:,} or less, or make the range of the "
                "sum smaller (lower, upper), or its unit larger"
            )

    @property
    def sets(self) -> bool:
        """Return whether a user may count in several groups of a tick."""
        return False

    @property
    def group_count(self) -> int:
        """Return how many figures a tick has."""
        return 1 if self.groups is None else len(self.groups)

    def figures(self) -> Figures:
        """Return how releases are written."""
        return Figures(self.groups, units_per_one=self.units_per_one)

    def in_words(self) -> dict[str, object]:
        """Say what is counted or summed, when, and what a user contributes."""
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
    """Count or sum what the section says, in ticks that it declares.

    What `protects` says decides the noise: a user's contribution to a tick, which may have been
    another one or none; or only whether there was one.
    """

    example = "groups: [north, south]\nticks: {width: 15m}\nepsilon: 1.0\n"

    ticks: TickSection
    """Say how event time is cut into ticks."""
    sum: Amounts | None = None
    """Say what is summed; without it, users are counted."""
    protects: Literal["contribution", "presence"] = "contribution"
    """Say what is hidden of a user in a tick: the whole `contribution`, or only its `presence`."""

    @model_validator(mode="after")
    def _check_groups(self) -> Self:
        if self.sum is not None and self.group_count > _LARGEST_GROUPS_OF_SUMS:
            raise ValueError(f"groups: with sum at most {_LARGEST_GROUPS_OF_SUMS:,}; merge some")
        return self

    @property
    def units_per_one(self) -> int:
        return 1 if self.sum is None else self.sum.units_per_one

    @property
    def largest_contribution(self) -> int:
        return 1 if self.sum is None else self.sum.largest_units

    @property
    def statistic(self) -> str:
        return "how many users" if self.sum is None else f"the sum of {self.sum.field}"

    @property
    def sensitivity(self) -> int:
        if self.sum is None:
            return 2 if self.group_count > 1 and self.protects == "contribution" else 1
        lower, upper = self.sum.ends
        largest = self.sum.largest_units
        if self.protects == "presence":
            return largest
        return 2 * largest if self.group_count > 1 else max(largest, upper - lower)

    @property
    def told(self) -> dict[str, Any]:
        """Return what is said about neighbours and ticks: for the promise, not for the law."""
        return {
            "neighbours": PRESENCE if self.protects == "presence" else CONTRIBUTIONS,
            "tick_milliseconds": self.in_ticks().width,
        }

    def fields_read(self, fields: Sequence[str]) -> Sequence[str]:
        return fields if self.sum is None else [*fields, self.sum.field]

    def values(self, fields: Sequence[str]) -> Values:
        groups, amounts = None, self.sum
        if self.groups is not None:
            groups = Groups(fields[0], self.groups, other=self.other)
        if amounts is None:
            return Contributions(groups, None)
        lower, upper = amounts.ends
        numbers = Numbers(amounts.field, units_per_one=amounts.units_per_one)
        return Contributions(groups, numbers, lower=lower, upper=upper)

    def in_ticks(self) -> Ticks:
        ticks = self.ticks
        return Ticks(*ticks.milliseconds, ticks.max_jump, time=ticks.stream_time.as_declared)
