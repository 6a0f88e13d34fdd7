"""LDP population absorption (LPA): publish when it pays, by the users of ticks that did not."""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.ldp_ids.deciding import PopulationDivision
from fugu.operators.wevent import allocation


@dataclass(frozen=True, eq=False)
class CollectedPopulationAbsorption(PopulationDivision):
    """Count users by reports of those of skipped ticks, after which as many ticks stay silent.

    Claim. As for `Collector`: a user reports once in any window, with all of epsilon.

    Parameters: `symbols`, `window`, `epsilon` and `oracle`, as there. Input, release and errors
    are those of `Collector`, decisions and state those of `DecidingCollector`.

    >>> from fugu.operators.trial import released
    >>> lpa = CollectedPopulationAbsorption(symbols=2, window=2, epsilon=4.0)
    >>> far, near = [1000, 250, 0, 225, 25, 0, 0], [1000, 250, 250, 200, 50, 200, 50]
    >>> ticks = released(lpa, [far, near, near])
    >>> [tick.annotations["published"].tolist() for tick in ticks]
    [[False], [True], [False]]

    Source: PBA specification, section 4 (LPA); Ren et al. 2022.
    """

    kind: ClassVar[str] = "lpa"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.BudgetAbsorption
    claim: ClassVar[str] = (
        "a user reports once in any window, for a decision or a publication, with all of epsilon"
    )
