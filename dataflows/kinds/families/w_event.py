"""Share what aggregates with a budget for any window of ticks have in common."""

from collections.abc import Callable
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from fugu.dataflows.base.section import Epsilon
from fugu.dataflows.kinds.families.aggregates import DeclaredAggregate
from fugu.dataflows.kinds.families.correlation import Correlation
from fugu.dataflows.kinds.families.leakage import TemporalLeakage
from fugu.dataflows.kinds.families.section import Files
from fugu.operators.budget_units import in_nats, units_of
from fugu.operators.leakage.inversion import UnboundedLeakage, largest_epsilon
from fugu.operators.mechanism import Mechanism
from fugu.operators.wevent.allocation import Cap
from fugu.operators.wevent.strategy import Strategy, Watched

_NOT_HERE = "{name}: {kind} does not have it; delete it"


class WEventOperator(DeclaredAggregate):
    """Release figures with a budget for any `window` ticks in a row.

    A kind names its `strategy_class`, and overrides `strategy` where that takes more.
    """

    example = DeclaredAggregate.example + "window: 4\n"
    protected = "what one person contributes, per any `window` ticks in a row"
    instead = dict.fromkeys(
        ("flags", "samples", "process_variance", "horizon", "contributions"), _NOT_HERE
    )
    strategy_class: ClassVar[type[Strategy]]

    epsilon: Annotated[Epsilon, Field(le=50)] | None = None
    """The nats that any `window` ticks in a row cost."""
    window: int = Field(ge=1, le=100_000)
    """Say how many ticks in a row share `epsilon`."""
    correlation: Correlation | None = None
    """Say how ticks of one user depend on each other."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.epsilon is None:
            raise ValueError("epsilon: is required; add it")
        return self

    def strategy(self) -> Mechanism:
        """Return the strategy, by itself."""
        return self._made(self.strategy_class, self._cap())

    def mechanism(self, files: Files) -> Mechanism:
        try:
            strategy = self.strategy()
        except UnboundedLeakage as error:
            raise ValueError(
                f"correlation.at_most: {error} (quantified does, with horizon: T); or delete "
                "at_most"
            ) from None
        if self.correlation is None or not isinstance(strategy, Strategy):
            return strategy
        return Watched(strategy, self.correlation.known, 2 if self.doubled else 1)

    def temporal_leakage(self, mechanism: Mechanism) -> TemporalLeakage | None:
        if self.correlation is None:
            return None
        assert isinstance(mechanism, Watched)
        return TemporalLeakage.of(
            self.correlation, mechanism, "add/remove" if self.doubled else "change-one"
        )

    def nats_of_one_value(self, mechanism: Mechanism) -> float | None:
        """Return the most that a tick spends, if a contribution changes."""
        inside = mechanism.strategy if isinstance(mechanism, Watched) else mechanism
        if not isinstance(inside, Strategy):
            return super().nats_of_one_value(mechanism)
        return in_nats((2 if self.doubled else 1) * inside.largest_tick)

    @property
    def doubled(self) -> bool:
        """Return whether a change of a contribution leaks twice what is spent: noise is for its
        presence."""
        return self.protects == "presence"

    def _made(
        self, strategy: Callable[..., Mechanism], *more: object, **named: object
    ) -> Mechanism:
        assert self.epsilon is not None
        shape = (self.group_count, self.window, float(self.epsilon), self.sensitivity)
        return strategy(*shape, *more, **named, **self.told)

    def _cap(self) -> Cap | None:
        """Return what a tick may spend for the leakage about any one to stay below the limit."""
        correlation = self.correlation
        if correlation is None or correlation.at_most is None or self.epsilon is None:
            return None
        largest = largest_epsilon(correlation.known, float(correlation.at_most))
        decides = self.strategy_class.rule_class.decides
        decision = units_of(float(self.epsilon)) // (2 * self.window) if decides else 0
        cap = Cap.within(largest, decision, 1 if self.doubled else 2)
        return cap if decides else Cap(cap.publication, cap.publication)

    def parameters(self) -> dict[str, object]:
        return {
            **self.in_words(),
            "epsilon": (
                "as correlation.at_most allows"
                if self.epsilon is None
                else f"{self.epsilon:g} nats in any {self.window} ticks in a row"
            ),
        }

    def how_to_read(self) -> list[str]:
        return [
            "value is the true figure plus noise where published is true, and the last published "
            "one elsewhere; it may be negative.",
            "records that came late, and users beyond state.max_keys, are not in the figures.",
        ]
