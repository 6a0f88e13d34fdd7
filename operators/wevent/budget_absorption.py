"""Budget absorption (BA): the w-event strategy that takes over the parts of skipped ticks."""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.wevent import allocation
from fugu.operators.wevent.strategy import Strategy


@dataclass(frozen=True, eq=False)
class BudgetAbsorption(Strategy):
    """Publish when it pays, with the budget that skipped ticks left over.

    Claim. As for `Uniform`. Half of epsilon is spread evenly over noisy decisions, the other half
    evenly over publications. One that absorbs the parts of n skipped ticks is followed by n silent
    ones, which repeat it without a look at the data, so that a window spends at most epsilon, and
    may spend all of it.

    Parameters: those of `Strategy`, as are input, release and errors. State: also `last`, the tick
    of the last publication, and `multiple`: of how many ticks it had the part.

    >>> from fugu.operators.trial import released
    >>> absorption = BudgetAbsorption(bins=2, window=2, epsilon=1.0, sensitivity=1)
    >>> ticks = released(absorption, [[0, 0], [0, 80], [0, 80], [0, 80]])
    >>> [tick.annotations["publication_epsilon"].tolist() for tick in ticks]
    [[0.0], [0.5], [0.0], [0.0]]

    Source: PBA specification, section 4; Kellaris et al. 2014.
    """

    kind: ClassVar[str] = "budget_absorption"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.BudgetAbsorption
    claim: ClassVar[str] = (
        "a window spends at most epsilon: half of it on decisions, and on publications the parts "
        "of their own ticks and of skipped ones, which silent ticks pay back"
    )
    proof: ClassVar[str] = "PBA specification, section 4 (BA)"
