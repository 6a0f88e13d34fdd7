"""Report sets anew by five rules about the budget of a window."""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.wevent import allocation
from fugu.operators.wevent.pba import NEVER, Flags
from fugu.operators.wevent.spread_strategies import DonorAllocation
from fugu.operators.wevent_local.window_reports import WindowReports


@dataclass(frozen=True, eq=False)
class LocalPrivacyBudgetAllocation(WindowReports):
    """Report anew where the last report has become wrong; a flag lets a report absorb a budget.

    This is privacy budget allocation for reports of single users (PBA-LDP).

    Claim. As for `WindowReports`, with the budgets of `DonorAllocation`; input, release and errors
    are the same, too. A flag says that positions are correlated. It improves accuracy, not privacy.

    Parameters: also `flags`, which look at public data and releases only.

    >>> from fugu.operators.single_stream import released
    >>> pba = LocalPrivacyBudgetAllocation(symbols=3, window=2, epsilon=40.0)
    >>> for release in released(pba, [2, 2, 0]):
    ...     print(release.values.astype(int).tolist(), release.kinds.tolist())
    [[0, 0, 1]] [0]
    [[0, 0, 1]] [1]
    [[1, 0, 0]] [0]

    Source: PBA specification, section 3 (thesis Algorithm 6.1, corrected: donors in place of a sum
    that never expires, and a threshold that distances can reach).
    """

    flags: Flags = NEVER

    kind: ClassVar[str] = "pba_ldp"
    rule_class = DonorAllocation

    @property
    def _flags(self) -> Flags:
        return self.flags


@dataclass(frozen=True, eq=False)
class LocalBudgetDistribution(WindowReports):
    """Report anew where the last report has become wrong, with half of what is left.

    Claim. As for `WindowReports`; input, release and errors are the same, too.

    Parameters: `symbols`, `window`, `epsilon` and `dissimilarity`, as there.

    >>> from fugu.operators.single_stream import released
    >>> mechanism = LocalBudgetDistribution(symbols=3, window=2, epsilon=40.0)
    >>> [release.kinds.tolist() for release in released(mechanism, [2, 2, 0])]
    [[0], [1], [0]]

    Source: PBA specification, sections 3 (reports) and 4 (budgets).
    """

    kind: ClassVar[str] = "budget_distribution_ldp"
    rule_class = allocation.BudgetDistribution


@dataclass(frozen=True, eq=False)
class LocalBudgetAbsorption(WindowReports):
    """Report anew where the last report has become wrong, with what silent positions left.

    Claim. As for `WindowReports`; input, release and errors are the same, too.

    Parameters: `symbols`, `window`, `epsilon` and `dissimilarity`, as there.

    >>> from fugu.operators.single_stream import released
    >>> mechanism = LocalBudgetAbsorption(symbols=3, window=2, epsilon=40.0)
    >>> [release.kinds.tolist() for release in released(mechanism, [2, 2, 0])]
    [[0], [1], [0]]

    Source: PBA specification, sections 3 (reports) and 4 (budgets).
    """

    kind: ClassVar[str] = "budget_absorption_ldp"
    rule_class = allocation.BudgetAbsorption


@dataclass(frozen=True, eq=False)
class LocalUniform(WindowReports):
    """Report every position anew, with an equal share of the budget of a window.

    Claim. As for `WindowReports`; input, release and errors are the same, too.

    Parameters: `symbols`, `window`, `epsilon` and `dissimilarity`, as there.

    >>> from fugu.operators.single_stream import released
    >>> mechanism = LocalUniform(symbols=3, window=2, epsilon=40.0)
    >>> [release.kinds.tolist() for release in released(mechanism, [2, 2, 0])]
    [[0], [0], [0]]

    Source: PBA specification, sections 3 (reports) and 4 (budgets).
    """

    kind: ClassVar[str] = "uniform_ldp"
    rule_class = allocation.Uniform


@dataclass(frozen=True, eq=False)
class LocalSample(WindowReports):
    """Report the first position of each window with all of its budget, and repeat it between.

    Claim. As for `WindowReports`; input, release and errors are the same, too.

    Parameters: `symbols`, `window`, `epsilon` and `dissimilarity`, as there.

    >>> from fugu.operators.single_stream import released
    >>> mechanism = LocalSample(symbols=3, window=2, epsilon=40.0)
    >>> [release.kinds.tolist() for release in released(mechanism, [2, 2, 0])]
    [[0], [1], [0]]

    Source: PBA specification, sections 3 (reports) and 4 (budgets).
    """

    kind: ClassVar[str] = "sample_ldp"
    rule_class = allocation.Sample
