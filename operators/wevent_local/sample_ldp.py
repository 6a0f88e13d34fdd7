"""The rule `Sample` of windows, for reports of single streams."""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.wevent import allocation
from fugu.operators.wevent_local.window_reports import WindowReports


@dataclass(frozen=True, eq=False)
class LocalSample(WindowReports):
    """Report the first position of each window with all of its budget, and repeat it between.

    Claim. As for `WindowReports`; input, release and errors are the same, too.

    Parameters: `symbols`, `window`, `epsilon` and `dissimilarity`, as there.

    >>> from fugu.operators.trial import released
    >>> mechanism = LocalSample(symbols=3, window=2, epsilon=40.0)
    >>> [release.kinds.tolist() for release in released(mechanism, [2, 2, 0])]
    [[0], [1], [0]]

    Source: PBA specification, sections 3 (reports) and 4 (budgets).
    """

    kind: ClassVar[str] = "sample_ldp"
    rule_class = allocation.Sample
