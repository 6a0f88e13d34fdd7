from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from fugu.dataflows.kinds.families.capped import CappedAggregate
from fugu.dataflows.kinds.families.w_event import WEventOperator
from fugu.operators.mechanism import Mechanism
from fugu.operators.personal_cap import LARGEST_COUNT
from fugu.operators.wevent.spread_strategies import Uniform


class UniformOperator(CappedAggregate, WEventOperator):
    """Release figures at every tick, each with an even share of the budget."""

    order = 400
    protected = f"{WEventOperator.protected}; or per period of `contributions`"
    instead: ClassVar = {
        name: words for name, words in WEventOperator.instead.items() if name != "contributions"
    }
    strategy_class = Uniform
    kind: Literal["uniform"]
    window: int = Field(default_factory=lambda: 1, ge=1, le=100_000)
    """Say how many ticks in a row share `epsilon`; write this or `contributions`."""

    @model_validator(mode="before")
    @classmethod
    def _take_the_window(cls, declared: Any) -> Any:
        """Let the ticks that count share epsilon under a cap, as those of a window do."""
        capped = declared.get("contributions") if isinstance(declared, dict) else None
        if isinstance(declared, dict) and capped is None and declared.get("window") is None:
            raise ValueError("window, contributions: write one of them")
        if not isinstance(capped, dict):
            return declared
        if declared.get("window") is not None:
            raise ValueError("contributions: take the place of window; delete it")
        at_most = capped.get("at_most")
        counted = at_most if isinstance(at_most, int) and 1 <= at_most <= LARGEST_COUNT else 1
        return {**declared, "window": counted}

    @model_validator(mode="after")
    def _check_correlation(self) -> Self:
        if self.contributions is not None and self.correlation is not None:
            raise ValueError(
                "correlation: which ticks count under contributions depends on other ticks, and "
                "what that tells about one of them is not known; delete it"
            )
        return self

    def strategy(self) -> Mechanism:
        """Return the strategy; under a cap neighbours differ by two contributions a tick."""
        cap = self.personal_cap
        if cap is None:
            return super().strategy()
        assert self.epsilon is not None
        return Uniform(
            self.group_count,
            cap.counted,
            float(self.epsilon),
            2 * self.bin_sensitivity,
            personal_cap=cap,
            **self.told,
        )

    def nats_of_one_value(self, mechanism: Mechanism) -> float | None:
        """Return all of epsilon under a cap: a tick more or less decides which others count."""
        if self.contributions is None or self.epsilon is None:
            return super().nats_of_one_value(mechanism)
        return float(self.epsilon)

    def parameters(self) -> dict[str, object]:
        if self.contributions is None:
            return super().parameters()
        epsilon = f"{self.epsilon:g} nats for each period of contributions anew"
        return {**self.in_words(), "epsilon": epsilon}

    def how_to_read(self) -> list[str]:
        return [*super().how_to_read(), *self.about_the_cap()]
