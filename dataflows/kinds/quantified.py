from dataclasses import replace
from typing import Literal, Self

from pydantic import model_validator

from fugu.dataflows.kinds.families.w_event import WEventOperator
from fugu.operators.mechanism import Mechanism
from fugu.operators.wevent.quantified import Quantified


class QuantifiedOperator(WEventOperator):
    """Release figures with budgets that keep a limit on what a declared correlation gives away."""

    order = 408
    example = (
        "groups: [north, south]\nticks: {width: 15m}\nwindow: 4\n"
        "correlation: {transition: [[0.9, 0.1], [0.2, 0.8]], at_most: 1.0}\n"
    )
    protected = WEventOperator.protected + "; and one tick, given the transition matrix"

    kind: Literal["quantified"]
    horizon: int | None = None
    """Say how many ticks there will be; without it, the series may go on for ever."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        limit = self.correlation and self.correlation.at_most
        if limit is None or self.epsilon is not None:
            raise ValueError(
                "correlation: quantified takes its budgets from correlation.at_most; add it, and "
                "delete epsilon"
            )
        return self

    def strategy(self) -> Mechanism:
        assert self.correlation is not None
        assert self.correlation.at_most is not None
        strategy = Quantified.for_leakage(
            self.correlation.known,
            float(self.correlation.at_most),
            bins=self.group_count,
            window=self.window,
            sensitivity=self.sensitivity,
            doubled=self.doubled,
            horizon=self.horizon,
        )
        return replace(strategy, **self.told)
