"""Share what aggregates under a personal cap have in common: people count in few ticks."""

from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from fugu.dataflows.base.section import Section
from fugu.dataflows.base.ticks import AS_JSON, MILLISECOND, whole_milliseconds
from fugu.dataflows.kinds.families.aggregates import DeclaredAggregate
from fugu.operators.personal_cap import LARGEST_COUNT, Allowance, PersonalCap

CUT_SHARE = (
    "a user counts in at most {at_most:,} ticks of {period}; what users contribute beyond that is "
    "not in the figures. No bar shows this bias, and nobody is told how large it is."
)
"""Say what an analyst must know of a cap."""


class ContributionsSection(Section):
    """Limit in how many ticks of a period a user counts; further contributions are dropped."""

    per_tick: Literal[1] = 1
    """Say how often a user counts in a tick: once."""
    at_most: int = Field(ge=1, le=LARGEST_COUNT)
    """Say in how many ticks of a period a user counts."""
    per: Annotated[timedelta, BeforeValidator(whole_milliseconds("1ms", "36500d")), AS_JSON]
    """Say how long a period is; periods follow each other, aligned to 1970."""
    allowance: Allowance = "first"
    """Say whether all of it is allowed from the start (`first`), or more and more (`rising`)."""
    apart: int = Field(default=1, ge=1)
    """Say how many ticks apart those must be in which a user counts."""


class CappedAggregate(DeclaredAggregate):
    """Take `contributions`, a personal cap, in place of a horizon or period of the budget."""

    contributions: ContributionsSection | None = None
    """Say in how many ticks of a period a user counts."""

    @model_validator(mode="after")
    def _check_contributions(self) -> Self:
        if self.contributions is None:
            return self
        if self.contributions.per // MILLISECOND % self.in_ticks().width:
            raise ValueError("contributions.per: must be a whole number of ticks (ticks.width)")
        try:
            cap = self.personal_cap
        except ValueError as error:
            raise ValueError(f"contributions.{error}") from None
        assert cap is not None
        if self.protects == "presence":
            raise ValueError(
                "protects: presence gains nothing under contributions, because whether a user "
                "was there also decides which of the other ticks count; delete it"
            )
        return self

    @property
    def personal_cap(self) -> PersonalCap | None:
        if self.contributions is None:
            return None
        declared = self.contributions
        return PersonalCap(
            declared.at_most,
            declared.per // MILLISECOND // self.in_ticks().width,
            declared.allowance,
            declared.apart,
            signed=self.sum is not None and self.sum.ends[0] < 0,
        )

    @property
    def changed_bins(self) -> int:
        """Return in how many groups one contribution can change a tick."""
        return 2 if self.group_count > 1 and self.protects == "contribution" else 1

    @property
    def bin_sensitivity(self) -> int:
        """Return by how many units it can change each of them; under a cap, what it amounts to."""
        if self.sum is None:
            return 1
        if self.protects == "presence" or self.contributions is not None:
            return self.sum.largest_units
        lower, upper = self.sum.ends
        return max(self.sum.largest_units, upper - lower)

    def refuse_beyond(self, largest: int, people: int) -> None:
        """Raise `ValueError` where so many people may add up to more than 64 bits have room for."""
        if people * self.largest_contribution > largest:
            raise ValueError(
                f"state.max_keys: {people:,} users who contribute up to "
                f"{self.largest_contribution:,} units each could add up to more than {largest:,} "
                "units in a tick, beyond which figures are cut off: noise of this precision leaves "
                f"no more room in 64 bits. Lower state.max_keys to "
                f"{largest // self.largest_contribution:,} or less, or make the unit of the sum "
                "larger"
            )

    def in_words(self) -> dict[str, object]:
        cap = self.personal_cap
        if cap is None:
            return super().in_words()
        growing = "" if cap.allowance == "first" else ", of which it may use more and more"
        apart = "" if cap.apart == 1 else f", at least {cap.apart:,} apart"
        return {
            **super().in_words(),
            "a user counts": (
                "once in a tick: the latest record by offset; in the earliest "
                f"{cap.at_most:,} ticks of each aligned period of {cap.ticks:,}{growing}{apart}"
            ),
        }

    def about_the_cap(self) -> list[str]:
        """Say what is left out of figures."""
        cap = self.personal_cap
        if cap is None:
            return []
        return [CUT_SHARE.format(at_most=cap.at_most, period=f"each {cap.ticks:,} ticks")]
