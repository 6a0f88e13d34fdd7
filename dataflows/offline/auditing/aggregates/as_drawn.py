"""Add up what draws of discrete Laplace noise cost, as the real step takes them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.stats import dlaplace

from fugu.dataflows.offline.auditing.aggregates.population import Said
from fugu.dataflows.offline.auditing.aggregates.worlds import Comparison
from fugu.dataflows.offline.auditing.audited import ROOT, ROUNDING, Check, Leaks, WorstCase
from fugu.dataflows.offline.auditing.shapes import DRAWS, follows
from fugu.operators.auditing.noise_as_drawn import Prices, prices
from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import Floats, Kind
from fugu.operators.wevent.binary_tree import BinaryTree

PUBLIC = "what is published and remembered is a function of noisy figures alone"
_PATHS = 64
_MOST_TICKS = 200


@dataclass(frozen=True)
class AsDrawn:
    """Hold the prices of the first ticks, with a restart of the merge before each of them.

    `apart` is by how many units (L1) a tick of neighbours differs, as it was summed.
    """

    comparison: Comparison
    prices: Prices
    apart: int

    @classmethod
    def of(cls, comparison: Comparison, extent: int | None) -> "AsDrawn":
        """Measure a window and the one after it, or as many ticks as there is time for."""
        subject = comparison.subject
        ticks = min(_MOST_TICKS, 2 * (extent or _MOST_TICKS) + 2)
        measured = prices(
            subject.mechanism,
            subject.groups,
            subject.first + np.arange(ticks),
            _PATHS if ticks <= _PATHS else _PATHS // 4,
            between=subject.before,
            exact=("sums",) if isinstance(subject.mechanism, BinaryTree) else (),
        )
        return cls(comparison, measured, apart(comparison))

    @property
    def fixed(self) -> bool:
        """Return whether the same is drawn whatever was released."""
        return not self.prices.decision.any() and not np.ptp(self.prices.publication, axis=1).any()

    def checks(self, guarantee: Guarantee, extent: int | None) -> Iterator[Check]:
        """Yield whether draws cost no more than is claimed, and follow their law."""
        yield Check(PUBLIC, self.prices.public)
        yield from law_of_noise(self.comparison, 0, float(self.prices.publication[0, 0]))
        if not self.fixed and extent is not None:
            most = self.apart * float(self.prices.of_windows(extent).max())
            paths = self.prices.publication.shape[1]
            yield Check(
                f"decisions and figures of any {extent:,} ticks together cost no more than is "
                f"claimed, on {paths} paths of {len(self.prices.publication)} ticks",
                most <= guarantee.epsilon + ROUNDING,
                f"{most:.4g} of {guarantee.epsilon:.4g} nats",
            )

    def worst(self, guarantee: Guarantee, extent: int | None) -> Iterator[WorstCase]:
        """Yield the largest loss of what neighbours differ in, where it is known exactly."""
        if not self.fixed:
            return
        if guarantee.per == "period" and extent is not None:
            leaked = self._of_periods(extent)
            said = f"one aligned period of {extent:,} ticks"
            yield WorstCase(guarantee.notion, "noise as drawn", said, guarantee.epsilon, leaked)
            return
        costs = self._influence.T @ self.prices.publication[:, 0]
        length = min(extent or len(costs), len(costs))
        leaked = self.apart * float(sliding_window_view(costs, length).sum(axis=1).max())
        yield WorstCase(
            guarantee.notion, "noise as drawn", f"{length} ticks", guarantee.epsilon, leaked
        )

    def _of_periods(self, extent: int) -> float:
        """Return the largest loss of an input in one aligned period, as it was summed.

        Every tick costs the same where the same is drawn.
        """
        truths, price = self.comparison.truths, float(self.prices.publication.max())
        base, most = truths[self.comparison.base], 0
        for other in truths.values():
            periods: Counter[int] = Counter()
            for tick in other.keys() & base.keys():
                periods[tick // extent] += int(np.abs(other[tick] - base[tick]).sum())
            most = max(most, *periods.values())
        return most * price

    def exact(self, other: Said) -> Leaks | None:
        """Return the loss of an input against the base, where the same is drawn for both."""
        if not self.fixed:
            return None
        truths = self.comparison.truths
        one, two = truths[self.comparison.base], truths[other]
        ticks = sorted(one)[: len(self.prices.publication)]
        if len(ticks) < len(one) or one.keys() != two.keys():
            return None
        differences = np.array([one[tick] - two[tick] for tick in ticks])
        moved = np.abs(self._influence[: len(ticks), : len(ticks)] @ differences).sum(axis=1)
        loss = float(self.prices.publication[: len(ticks), 0] @ moved)
        return loss, loss

    @property
    def _influence(self) -> Floats:
        """Return which ticks (columns) a draw of a tick (rows) is about."""
        ticks = len(self.prices.publication)
        if not isinstance(self.comparison.subject.mechanism, BinaryTree):
            return np.eye(ticks)
        after = np.arange(1, ticks + 1)[:, None]
        before = after - (after & -after)
        columns = np.arange(ticks)
        return ((before <= columns) & (columns < after)).astype(np.float64)


def law_of_noise(comparison: Comparison, number: int, price: float) -> Iterator[Check]:
    """Yield whether noise of a tick, by its number, has the discrete Laplace law of its price, in
    all groups."""
    if not 0.0 < price < inf:
        return
    truths = comparison.truths[comparison.base]
    tick = sorted(truths)[number]
    streams = [b"%d" % run for run in range(DRAWS)]
    secret = ROOT.derive("law")
    releases = comparison.subject.released_at(tick, comparison.base, secret, streams)
    fresh = np.ones(DRAWS, bool) if releases.kinds is None else releases.kinds == Kind.FRESH
    noise = (releases.values - truths[tick])[fresh].ravel()
    law = dlaplace(price)
    about = "noise follows the discrete Laplace law of its price"
    yield follows(about, law.cdf(noise - 1), law.cdf(noise))


def apart(comparison: Comparison) -> int:
    """Return by how many units (L1) a tick of neighbours differs at most, as it was summed."""
    base = comparison.truths[comparison.base]
    return max(
        int(np.abs(truths[tick] - base[tick]).sum())
        for truths in comparison.truths.values()
        for tick in truths.keys() & base.keys()
    )
