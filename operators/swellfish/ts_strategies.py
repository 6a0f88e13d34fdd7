"""TS baselines: w-event strategies with noise for what policies hide in a tick."""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.swellfish.strategy import WindowStrategy
from fugu.operators.wevent import allocation


@dataclass(frozen=True, eq=False)
class TSUniform(WindowStrategy):
    """Spend the same at every tick of a window: `uniform`, with the sensitivity of each tick.

    Claim. As for `WindowStrategy`. Parameters: those of `WindowStrategy`, as are input, release and
    errors.

    >>> from fugu.operators.swellfish.household import HOUSEHOLD
    >>> from fugu.operators.single_stream import released
    >>> uniform = TSUniform(HOUSEHOLD, bins=1, epsilon=1.0, window=4)
    >>> ticks = released(uniform, [[500]] * 8)
    >>> [float(tick.annotations["publication_epsilon"][0]) for tick in ticks]
    [0.0, 0.25, 0.25, 0.25, 0.25, 0.25, 0.0, 0.25]

    Source: Swellfish specification, section 6; Kellaris et al. 2014.
    """

    kind: ClassVar[str] = "ts_uniform"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.Uniform
    claim: ClassVar[str] = "a window, and so an interval, shares epsilon evenly among its ticks"


@dataclass(frozen=True, eq=False)
class TSSample(WindowStrategy):
    """Spend all at the first tick of every window: `sample`, with the sensitivity of that tick.

    Claim. As for `WindowStrategy`. If nothing is relevant at the tick of the sample, the window has
    none: that tick is then exact with `irrelevant: exact`, and with `repeat` nothing new is
    published up to the next window.

    Parameters: those of `WindowStrategy`. Source: as for `TSUniform`.
    """

    kind: ClassVar[str] = "ts_sample"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.Sample
    claim: ClassVar[str] = (
        "a window, and so an interval, holds one sample at most, which spends epsilon"
    )


@dataclass(frozen=True, eq=False)
class TSBudgetDistribution(WindowStrategy):
    """Spend half of what the window has left: `budget_distribution`, with the sensitivity of each
    tick in decision, limit and release.

    Claim. As for `WindowStrategy`. Parameters: those of `WindowStrategy`. Source: as for
    `TSUniform`.
    """

    kind: ClassVar[str] = "ts_budget_distribution"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.BudgetDistribution
    claim: ClassVar[str] = (
        "a window, and so an interval, spends less than epsilon: half of it on decisions, and on "
        "publications half of what those of the window have left of the other half"
    )


@dataclass(frozen=True, eq=False)
class TSBudgetAbsorption(WindowStrategy):
    """Spend what skipped ticks left over: `budget_absorption`, with the sensitivity of each tick
    in decision, limit and release.

    Claim. As for `WindowStrategy`. An irrelevant tick is absorbed like a skipped one, and may be
    exact while the strategy is silent.

    Parameters: those of `WindowStrategy`. Source: as for `TSUniform`.
    """

    kind: ClassVar[str] = "ts_budget_absorption"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.BudgetAbsorption
    claim: ClassVar[str] = (
        "a window, and so an interval, spends at most epsilon: half of it on decisions, and on "
        "publications the parts of their own ticks and of skipped ones, which silent ticks pay back"
    )
