"""Running totals: factorised noise beside noise on each tick and a tree of noisy sums."""

from math import sqrt

from bench.figures.figure import Figure, Panel
from fugu.operators.totals.running_total import RunningTotal

_TICKS = tuple(2**power for power in range(4, 14))
_WINDOWS = (1, 24)


def running_totals() -> Figure:
    """Compute root mean square errors of totals by their laws, at the same Gaussian budget."""
    panels, gains = [], []
    for window in _WINDOWS:
        curves: dict[str, list[tuple[float, float]]] = {
            "noise on each tick": [],
            "tree of Gaussian sums": [],
            "running_total": [],
        }
        for ticks in (one for one in _TICKS if one >= window):
            total = RunningTotal(1, 1, 1, 1.0, 1e-6, ticks, window)
            mine = total.error / total.precision.noise_of_a_change
            found = (sqrt(window * (ticks + 1) / 2), tree_error(ticks, window), mine)
            for label, error in zip(curves, found, strict=True):
                curves[label].append((float(ticks), error))
        longest = [curves[label][-1][1] for label in curves]
        gains.append(f"{longest[0] / longest[2]:.1f} and {longest[1] / longest[2]:.1f} times less")
        title = f"{window} tick{'s in a row' * (window > 1)} protected together"
        panels.append(Panel(title, "ticks", "error, in noise of a tick", curves, (True, True)))
    return Figure(
        "running-totals",
        "beyond the papers of the seeds: McMahan et al. 2024 against Chan, Shi and Song 2011",
        panels,
        "beyond the papers",
        f"Over {_TICKS[-1]:,} ticks running_total errs {gains[0]} than noise on each tick and than "
        f"a tree where one tick is protected, and {gains[1]} for {_WINDOWS[1]} in a row.",
    )


def tree_error(ticks: int, window: int) -> float:
    """Return the error of totals of blocks of 1, 2, 4, ... ticks with Gaussian noise."""
    worst = 0
    for start in range(ticks - window + 1):
        squares, last = 0, start + window - 1
        for level in range(ticks.bit_length()):
            begin, end = start >> level, last >> level
            if begin == end:
                squares += window**2
                continue
            first, after = ((begin + 1) << level) - start, last + 1 - (end << level)
            squares += first**2 + after**2 + (end - begin - 1) * 4**level
        worst = max(worst, squares)
    blocks = sum(total.bit_count() for total in range(1, ticks + 1)) / ticks
    return sqrt(worst * blocks)
