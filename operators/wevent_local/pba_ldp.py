"""Privacy budget allocation at the user's side (PBA-LDP)."""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.wevent.donor_allocation import DonorAllocation
from fugu.operators.wevent.flags import NEVER, Flags
from fugu.operators.wevent_local.window_reports import WindowReports


@dataclass(frozen=True, eq=False)
class LocalPrivacyBudgetAllocation(WindowReports):
    """Report anew where the last report has become wrong; a flag lets a report absorb a budget.

    Claim. As for `WindowReports`, with the budgets of `DonorAllocation`; input, release and errors
    are the same, too. A flag says that positions are correlated. It improves accuracy, not privacy.

    Parameters: also `flags`, which look at public data and releases only.

    >>> from fugu.operators.trial import released
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
