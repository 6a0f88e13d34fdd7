"""Compare what the analyst found with the truth, which only a generated example knows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from fugu.operators.mechanism import Floats, Integers
from fugu.operators.responses.frequency_estimates import FrequencyEstimate

SMALLEST_SHARE = 0.002
"""The smallest share of a page whose bar is counted: below it, few clicks stand behind a share."""
_SHOWN = 15


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of all pages among so many clicks: true, as released, and estimated."""

    pages: Sequence[str]
    clicks: int
    truth: Floats
    released: Floats
    estimate: FrequencyEstimate

    @cached_property
    def bars(self) -> Floats:
        """The 95 % interval of each page, `(n, 2)`."""
        return self.estimate.intervals(0.95)

    @property
    def held(self) -> NDArray[np.bool_]:
        """Return whether the interval holds the true share."""
        return (self.bars[:, 0] <= self.truth) & (self.truth <= self.bars[:, 1])

    @property
    def frequent(self) -> Integers:
        """Pages whose true share is not too small, the most frequent first."""
        ranked = np.argsort(-self.truth, kind="stable")
        return ranked[self.truth[ranked] >= SMALLEST_SHARE]

    def verdict(self) -> str:
        """Return how many bars are right."""
        held, share = int(self.held[self.frequent].sum()), f"{100 * SMALLEST_SHARE:g} %"
        return (
            f"{held} of {len(self.frequent)} pages with a true share of {share} or more lie within "
            "their 95 % bars."
        )


def table(shares: Shares) -> Table:
    """The pages that the analyst takes for the most frequent ones."""
    shown = Table(
        title=f"The {_SHOWN} most frequent pages",
        caption="corrected uses the sanitized topic and the public model alone",
    )
    for heading in ("page", "true share", "released", "corrected, 95 %", "holds the truth"):
        shown.add_column(heading, justify="left" if heading == "page" else "right")
    margins = (shares.bars[:, 1] - shares.bars[:, 0]) / 2.0
    for page in np.argsort(-shares.estimate.shares, kind="stable")[:_SHOWN]:
        shown.add_row(
            shares.pages[page],
            f"{shares.truth[page]:.2%}",
            f"{shares.released[page]:.2%}",
            f"{shares.estimate.shares[page]:.2%} ± {margins[page]:.2%}",
            "yes" if shares.held[page] else "no",
        )
    return shown
