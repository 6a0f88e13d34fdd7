"""Share what sections of real-time release have in common: a budget for a series, and a filter."""

from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from fugu.dataflows.base.section import Epsilon, Section
from fugu.operators.realtime.account import LARGEST_DECAY, LARGEST_HORIZON, LARGEST_SHARED, falling
from fugu.operators.realtime.real_time_release import (
    LARGEST_CORRELATION,
    DeclaredModel,
    Presentation,
    require_history,
)
from fugu.operators.wevent.allocation import LARGEST_EPSILON

Values = Annotated[int, Field(ge=1, le=LARGEST_HORIZON)]
Share = Annotated[float, Field(gt=0, allow_inf_nan=False, strict=False)]
Weight = Annotated[float, Field(gt=0, le=1, strict=False)]
Number = Annotated[float, Field(allow_inf_nan=False, strict=False)]
History = Annotated[list[Number], Field(max_length=10_000)]
PREDICTED_BARS = (
    "the bar of a prediction (predicted: true) was not measured: it is a forecast's, and widens "
    "with every tick since the last measurement. Of generated random walks and ramps it held 90 % "
    "and more (77 % where noise hid a trend); it knows nothing of a step or a new habit since."
)
MEASURED_BARS = (
    "value plus and minus 1.96 standard_error holds the true {what} in 19 ticks of 20 on average "
    "over a long run, and more often where noise hides how the series moves; less often in a short "
    "series that rises and falls steeply, not right after a step, and not at spikes that are "
    "within the noise."
)
MODEL_BARS = (
    "value plus and minus 1.96 standard_error holds the true figure in 19 ticks of 20 where "
    "figures move as the declared model says; where noisy values are farther from predictions than "
    "it expects, bars grow with that, but less often hold right after a step."
)
CORRELATED_ERRORS = (
    "errors of ticks that follow each other are correlated: the mean of n values errs more than "
    "standard_error divided by the root of n."
)
"""Say what an analyst must know of error bars."""
_PRESENTED = {
    "none": "as it is",
    "integer": "rounded to a whole number of units",
    "non_negative": "at least 0",
}


def _filter_of(value: object) -> str:
    if isinstance(value, str):
        return "a word"
    if isinstance(value, dict):
        return "a weight" if value.keys() & {"weight", "weights"} else "a model"
    return "a weight" if isinstance(value, FixedWeight) else "a model"


class FixedWeight(Section):
    """Give noisy values this weight, or these in turn, and the prediction the rest."""

    weight: Weight | None = None
    """The weight of every noisy value."""
    weights: Annotated[list[Weight], Field(min_length=1, max_length=10_000)] | None = None
    """The weights that noisy values take in turn, in the place of `weight`. They must not be made
    from the private topic, nor by `fugu evaluate` on a private sample: no promise covers that."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.weight is None) == (self.weights is None):
            raise ValueError("weight, weights: write one of them")
        return self


class ModelFilter(Section):
    """Filter by a public model: figures go back to their mean, with a correlation from tick to
    tick. Of several groups, `mean` and `deviation` are lists in their order.

    With `history` and without contributions, let the learning filter begin with what it says.
    """

    mean: Number | list[Number] | None = None
    """The mean that figures go back to; public, not made from the private topic, as the others."""
    deviation: Number | list[Number] | None = None
    """The standard deviation of figures around it; public, too."""
    correlation: Annotated[float, Field(ge=0, le=LARGEST_CORRELATION)] | None = None
    """The share of a deviation that is left one tick later."""
    history: list[History] | None = None
    """Public figures of the past, a list for each group, in place of the three others: released
    and charged before, or never private."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        declared = [self.mean, self.deviation, self.correlation]
        if self.history is not None and any(one is not None for one in declared):
            raise ValueError(
                "history: takes the place of mean, deviation and correlation; delete those"
            )
        if self.history is None and any(one is None for one in declared):
            raise ValueError("mean, deviation, correlation: write all three, or history")
        return self

    def model(self, groups: int, units_per_one: int) -> DeclaredModel:
        """Return the model of so many groups, in units."""
        past = self.past(groups, units_per_one)
        try:
            return DeclaredModel.of_history(past) if past else self._declared(groups, units_per_one)
        except ValueError as error:
            raise ValueError(f"filter.{error}") from None

    def _declared(self, groups: int, units_per_one: int) -> DeclaredModel:
        assert self.correlation is not None
        mean, deviation = (
            tuple(units_per_one * one for one in self._of_each(name, groups))
            for name in ("mean", "deviation")
        )
        return DeclaredModel(mean, deviation, float(self.correlation))

    def past(self, groups: int, units_per_one: int) -> tuple[tuple[float, ...], ...]:
        """Return the public history of so many groups, in units, if there is one."""
        if self.history is None:
            return ()
        if len(self.history) != groups:
            raise ValueError(
                f"filter.history: has {len(self.history)} lists; write one for each of the "
                f"{groups} groups"
            )
        past = tuple(tuple(units_per_one * one for one in values) for values in self.history)
        try:
            require_history(past, groups)
        except ValueError as error:
            raise ValueError(f"filter.{error}") from None
        return past

    def _of_each(self, name: str, groups: int) -> list[float]:
        declared = getattr(self, name)
        if not isinstance(declared, list):
            return [float(declared)] * groups
        if len(declared) != groups:
            raise ValueError(
                f"{name}: has {len(declared)} numbers; write one, or one for each of the "
                f"{groups} groups"
            )
        return declared


class SeriesBudget(Section):
    """Declare `epsilon` and `delta`, how they are shared, and what is made of noisy values.

    `horizon` shares them among so many values, evenly or by `shares` that values take in turn,
    `period` among those of so many ticks, after which a new budget begins, and `decay` gives
    each value this share of what the one before it had.
    """

    epsilon: Annotated[Epsilon, Field(le=LARGEST_EPSILON)]
    """The nats that the whole series costs, or a period of it."""
    delta: Annotated[float, Field(gt=0, lt=1)]
    """The chance with which it is as if nothing were promised."""
    horizon: Values | None = None
    """Say how many values share the budget."""
    shares: (
        Annotated[
            Annotated[Literal["falling"], Tag("a word")]
            | Annotated[list[Share], Field(min_length=1, max_length=10_000), Tag("a list")],
            Discriminator(lambda value: "a word" if isinstance(value, str) else "a list"),
        ]
        | None
    ) = None
    """The shares of the budget that values take in turn, or `falling`: those with which totals
    since the first value err least; goes with `horizon`."""
    period: Values | None = None
    """Say how many ticks share a budget, before a new one begins."""
    decay: Annotated[float, Field(gt=0, le=LARGEST_DECAY)] | None = None
    """Say which share of the budget of the value before each value has."""
    filter: Annotated[
        Annotated[Literal["adaptive", "baseline"], Tag("a word")]
        | Annotated[FixedWeight, Tag("a weight")]
        | Annotated[ModelFilter, Tag("a model")],
        Discriminator(_filter_of),
    ] = "adaptive"
    """Say what is made of noisy values: learned weights, fixed weights, a public model, or nothing.
    """
    presentation: Presentation = "none"
    """Say how an estimate is written."""

    @model_validator(mode="after")
    def _check_shares(self) -> Self:
        shared = sum(part is not None for part in (self.horizon, self.period, self.decay))
        if self.capped and (shared or self.shares is not None):
            raise ValueError(
                "contributions: take the place of horizon, period, decay and shares; delete those"
            )
        if not self.capped and shared != 1:
            raise ValueError("horizon, period, decay: write exactly one of them")
        if self.shares is not None and self.horizon is None:
            raise ValueError("shares: go with a horizon; delete them")
        if self.shares == "falling" and (self.horizon or 0) > LARGEST_SHARED:
            raise ValueError(
                f"shares: falling goes with a horizon of at most {LARGEST_SHARED:,} values, not "
                f"{self.horizon:,}; lower horizon, or delete shares, which shares it evenly"
            )
        if isinstance(self.filter, ModelFilter) and not self.capped and not self.filter.history:
            raise ValueError(
                "filter: a model goes with contributions; write those, or history, or adaptive"
            )
        return self

    @property
    def capped(self) -> bool:
        """Return whether a personal cap says for how many ticks the budget is."""
        return False

    @property
    def weights(self) -> tuple[float, ...]:
        """Return those that noisy values take in turn, if there are any."""
        turns = self.filter.weights if isinstance(self.filter, FixedWeight) else None
        return tuple(map(float, turns or ()))

    @property
    def weight(self) -> float | None:
        """Return that of a noisy value; None where the filter learns it or there are several, 1
        where there is none."""
        match self.filter:
            case "adaptive" | ModelFilter():
                return None
            case "baseline":
                return 1.0
            case FixedWeight(weight=weight):
                return weight
        raise AssertionError(self.filter)

    def release_parameters(self) -> dict[str, Any]:
        """Return what `RealTimeRelease` is to know of it."""
        return {
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "horizon": self.horizon,
            "period": self.period,
            "decay": self.decay,
            "weight": self.weight,
            "presentation": self.presentation,
            "shares": self._shares,
        }

    @property
    def _shares(self) -> tuple[float, ...]:
        if self.shares == "falling":
            assert self.horizon is not None
            return falling(self.horizon)
        return tuple(map(float, self.shares or ()))

    def budget_in_words(self) -> dict[str, object]:
        """Say budget and filter."""
        return {
            "epsilon": f"{self.epsilon:g} nats with delta {self.delta:g}, {self._shared}",
            "filter": self._filtered,
            "an estimate is published": _PRESENTED[self.presentation],
        }

    @property
    def _shared(self) -> str:
        if self.capped:
            return "for each period of contributions anew, for the ticks that a user counts in"
        if self.shares == "falling":
            return (
                f"shared among {self.horizon:,} values, of which earlier ones have more; "
                "predictions follow"
            )
        if self.shares is not None:
            return (
                f"shared among {self.horizon:,} values, which take {len(self.shares)} shares in "
                "turn; predictions follow"
            )
        if self.horizon is not None:
            return f"shared evenly among {self.horizon:,} values; predictions follow"
        if self.period is not None:
            return f"for each period of {self.period:,} ticks anew, shared evenly among its values"
        return f"for ever: each value after the second has {self.decay:g} of the share before it"

    @property
    def _filtered(self) -> str:
        match self.filter:
            case "adaptive":
                return "learns from noisy values how ticks go together"
            case "baseline":
                return "none: noisy values are published as they are"
            case FixedWeight(weights=list() as weights):
                return f"noisy values have {len(weights)} weights in turn, predictions the rest"
            case FixedWeight(weight=float() as weight):
                return f"a noisy value has the weight {weight:g}, a prediction the rest"
            case ModelFilter() if not self.capped:
                return "learns from noisy values how ticks go together, and begins with a history"
            case ModelFilter():
                return "a public model, with noise whose shape suits it where that gains"
        raise AssertionError(self.filter)
