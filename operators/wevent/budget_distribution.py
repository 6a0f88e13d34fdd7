"""Budget distribution (BD): the w-event strategy that halves what the window has left."""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.wevent import allocation
from fugu.operators.wevent.strategy import Strategy


@dataclass(frozen=True, eq=False)
class BudgetDistribution(Strategy):
    """Publish when it pays, with half of what the publications of the window have left.

    Claim. As for `Uniform`. Half of epsilon is spread evenly over noisy decisions; a publication
    costs half of what those of the window have left of the other half, so that a window spends less
    than epsilon (1 - 2^-(window + 1)).

    Parameters: those of `Strategy`, as are input, release and errors. State: also `shares`, what
    the publications of a window took.

    >>> from fugu.operators.trial import released
    >>> distribution = BudgetDistribution(bins=2, window=2, epsilon=1.0, sensitivity=1)
    >>> ticks = released(distribution, [[500, 0], [500, 0], [500, 80], [500, 80]])
    >>> [tick.annotations["publication_epsilon"].tolist() for tick in ticks]
    [[0.25], [0.0], [0.25], [0.0]]

    Source: PBA specification, sections 2 and 4; Kellaris et al. 2014.
    """

    kind: ClassVar[str] = "budget_distribution"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.BudgetDistribution
    claim: ClassVar[str] = (
        "a window spends less than epsilon: half of it on decisions, and on publications half of "
        "what those of the window have left of the other half"
    )
    proof: ClassVar[str] = "PBA specification, sections 2 (theorem, with all flags 1) and 4 (BD)"
