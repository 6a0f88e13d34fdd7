"""LDP budget distribution (LBD): publish when it pays, with half of what the window has left."""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.ldp_ids.deciding import BudgetDivision
from fugu.operators.wevent import allocation


@dataclass(frozen=True, eq=False)
class CollectedBudgetDistribution(BudgetDivision):
    """Count users by reports with half of what the publications of a window have left.

    Claim. As for `Collector`: half of epsilon is spread evenly over decisions, and a publication
    takes half of what those of the window have left of the other half.

    Parameters: `symbols`, `window`, `epsilon` and `oracle`, as there. Input, release and errors
    are those of `Collector`, decisions and state those of `DecidingCollector`.

    >>> from fugu.operators.trial import released
    >>> lbd = CollectedBudgetDistribution(symbols=2, window=2, epsilon=8.0)
    >>> far, near = [1000, 1000, 0, 850, 150, 0, 0], [1000, 1000, 1000, 850, 150, 850, 150]
    >>> ticks = released(lbd, [far, near, near])
    >>> [tick.annotations["published"].tolist() for tick in ticks]
    [[False], [True], [False]]

    Source: PBA specification, section 4 (LBD); Ren et al. 2022.
    """

    kind: ClassVar[str] = "lbd"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.BudgetDistribution
    claim: ClassVar[str] = (
        "a user reports at every tick for decisions, with half of epsilon in a window, and for "
        "publications with half of what those of the window have left of the other half"
    )
