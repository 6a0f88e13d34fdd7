"""LDP budget absorption (LBA): publish when it pays, with the parts of ticks that did not."""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.ldp_ids.deciding import BudgetDivision
from fugu.operators.wevent import allocation


@dataclass(frozen=True, eq=False)
class CollectedBudgetAbsorption(BudgetDivision):
    """Count users by reports with the parts of skipped ticks, after which as many stay silent.

    Claim. As for `Collector`: half of epsilon is spread evenly over decisions, and a publication
    takes the parts of its own tick and of skipped ones, which silent ticks pay back.

    Parameters: `symbols`, `window`, `epsilon` and `oracle`, as there. Input, release and errors
    are those of `Collector`, decisions and state those of `DecidingCollector`.

    >>> from fugu.operators.trial import released
    >>> lba = CollectedBudgetAbsorption(symbols=2, window=2, epsilon=8.0)
    >>> far, near = [1000, 1000, 0, 850, 150, 0, 0], [1000, 1000, 1000, 850, 150, 850, 150]
    >>> ticks = released(lba, [far, near, near])
    >>> [tick.annotations["published"].tolist() for tick in ticks]
    [[False], [True], [False]]

    Source: PBA specification, section 4 (LBA); Ren et al. 2022.
    """

    kind: ClassVar[str] = "lba"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.BudgetAbsorption
    claim: ClassVar[str] = (
        "a user reports at every tick for decisions, with half of epsilon in a window, and for "
        "publications with the parts of their own ticks and of skipped ones, which silent ticks "
        "pay back"
    )
