"""TLDP, Fig. 7: running counts and moving averages of displaced and of noisy series.

Panels b and d compare two mechanisms: by the errors of a and c, and by what costs predict of them
(section II-D of the paper).
"""

import tempfile
from math import log10
from pathlib import Path

import numpy as np

from bench.figures.figure import Figure, Panel, listed
from bench.figures.temporal_clusters import threshold_for
from fugu.operators.temporal.dispatch_law import Costs
from fugu.operators.temporal.random_delays import BackwardPerturbation, ForwardPerturbation
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation
from tests.acceptance.test_temporal_utility import seen
from tests.dataflows.offline.evaluation.temporal.section_nine import (
    EPSILONS,
    PENDING,
    PRINTED_STEPS,
    WINDOW,
    Measured,
    measured,
)

_STREAMS, _EPSILONS = 2, EPSILONS
_PREDICTED, _SKEWED = "predicted by costs", 0.53
"""The share of up moves of series that rise somewhat more often than they fall, to compare with."""
_IN_TIME = ("threshold", "backward", "forward")
_KINDS = ("threshold", "backward", "laplace", "grr")
_COUNTS = {
    "threshold": "count, threshold",
    "threshold, filled": "count, threshold, filled",
    "backward": "count, backward",
    "forward": "count, forward",
    "grr": "count, grr, filled",
}
_AVERAGES = {
    "threshold": "average, threshold",
    "threshold, moved": "average, threshold, moved",
    "backward": "average, backward",
    "forward": "average, forward",
    "laplace": "average, laplace",
}


def temporal_utility() -> Figure:
    """Send two series of 14,058 ticks through the lift of `fugu run` for each epsilon."""
    with tempfile.TemporaryDirectory() as folder:
        series = measured(Path(folder), PRINTED_STEPS, _STREAMS, seed=5)
        found = {epsilon: _rows(series, epsilon) for epsilon in _EPSILONS}
    counts, averages = (
        {label: [(epsilon, row[name]) for epsilon, row in found.items()] for label, name in names}
        for names in (_COUNTS.items(), _AVERAGES.items())
    )
    counted = [e for e in _EPSILONS if _least(counts, e) == "threshold"]
    plain = {name: curve for name, curve in averages.items() if name != "threshold, moved"}
    averaged = [e for e in _EPSILONS if _least(plain, e) == "threshold"]
    moved = [e for e in _EPSILONS if _least(averages, e) == "threshold, moved"]
    worst = min(
        dict(averages["laplace"])[e] / max(dict(averages[name])[e] for name in _IN_TIME)
        for e in _EPSILONS
    )
    up = float(np.mean(series.series.moves.values > 0.0))
    pairs = {
        "count": _ratios(counts, "backward", _of_counts(up)),
        "average": _ratios(averages, "forward", _of_averages()),
    }
    filled = [
        e for e in _EPSILONS if dict(counts["threshold, filled"])[e] < dict(counts["threshold"])[e]
    ]
    skewed = _ratios(counts, "backward", _of_counts(_SKEWED))
    pairs["count"] |= {f"predicted for {_SKEWED:.0%} up": skewed[_PREDICTED]}
    most = len(_EPSILONS) / 2
    foretold = all(len(_named(one)) == len(_EPSILONS) for one in pairs.values())
    as_printed = len(counted) > most and len(averaged) > most and foretold
    extended = [e for e in _EPSILONS if e < min(PENDING)]
    return Figure(
        "tldp-figure-7",
        "Ye et al. 2021, Fig. 7 (generated series as long as the stock's; b and d: our reading of "
        "the axis is the logarithm of a ratio of two mean squared errors, or of two costs)",
        [
            Panel(f"a: running count, k = {WINDOW}", "epsilon", "mean squared error", counts),
            _ratio_panel("b: count, backward to threshold", pairs["count"]),
            Panel("c: moving average of 10 ticks", "epsilon", "mean squared error", averages),
            _ratio_panel("d: average, forward to threshold", pairs["average"]),
        ],
        "reproduced" if as_printed else "differs",
        f"(a) Of running counts the threshold mechanism errs least at {_told(counted)}. At "
        f"{listed(extended)} it is extended, and values that it leaves out add up; counts that are "
        f"divided by the share of filled ticks err less at {_told(filled)}. (b) "
        f"{_foretold(pairs['count'], 'backward')} The costs of the paper go by the difference of "
        f"the shares of both values, squared, and here {up:.2%} are up, nearly as many as down: "
        f"for {_SKEWED:.0%} they would name the better one at {len(_named(skewed))} epsilons. (c) "
        f"All three mechanisms in time err at least {worst:,.0f} times less than Laplace noise, as "
        f"printed. But the threshold mechanism is best at {_told(averaged)}, where "
        "the paper says most; compared with the average one mean delay earlier it is "
        f"best at {_told(moved)}. (d) {_foretold(pairs['average'], 'forward')}",
    )


_Curves = dict[str, list[tuple[float, float]]]


def _of_counts(up: float) -> Costs:
    """Return the prices of frequency counting, case 1 of the paper, for a share of up moves.

    The paper gives the price of a missing and a repeated value together, and of a missing and an
    empty one. It has a count last for the rest of the series, on average for half of it.
    """
    half = PRINTED_STEPS / 2.0
    together, with_empty = ((2.0 * up - 1.0) * half) ** 2, (up * half) ** 2
    delay = (up * (WINDOW - 1) / 2.0) ** 2
    return Costs(missing=0.0, repeated=together, empty=with_empty, delay=delay)


def _of_averages() -> Costs:
    """Return the prices of a moving average of k ticks, case 2 of the paper, in units of M."""
    return Costs(missing=1.0, repeated=1.0, empty=0.0, delay=1.0)


def _ratios(found: _Curves, other: str, costs: Costs) -> _Curves:
    """Return logarithms of how many times `other` errs as much as the threshold mechanism."""
    errors, ours = dict(found[other]), dict(found["threshold"])
    predicted = {}
    for epsilon in _EPSILONS:
        pair = _rival(other, epsilon), threshold_for(WINDOW, epsilon)
        paid, least = (costs.of(mechanism.expected) for mechanism in pair)
        predicted[epsilon] = log10(paid / least)
    return {
        "measured": [(e, log10(errors[e] / ours[e])) for e in _EPSILONS],
        _PREDICTED: list(predicted.items()),
        "equal": [(e, 0.0) for e in _EPSILONS],
    }


def _rival(name: str, epsilon: float) -> TemporalPerturbation:
    if name == "backward":
        return BackwardPerturbation(k=WINDOW, epsilon=epsilon)
    return ForwardPerturbation(k=WINDOW, epsilon=epsilon, calibrate="nominal")


def _ratio_panel(title: str, curves: _Curves) -> Panel:
    return Panel(title, "epsilon", "log10 of the ratio", curves, (False, False))


def _named(curves: _Curves) -> list[float]:
    """Return where costs name the mechanism that errs less."""
    measured, predicted = dict(curves["measured"]), dict(curves[_PREDICTED])
    return [e for e in _EPSILONS if (measured[e] > 0.0) == (predicted[e] > 0.0)]


def _foretold(curves: _Curves, other: str) -> str:
    """Say where costs and errors agree on which mechanism is better."""
    measured, predicted = dict(curves["measured"]), dict(curves[_PREDICTED])
    off = max(abs(measured[e] - predicted[e]) for e in _EPSILONS)
    errs, pays = ([e for e in _EPSILONS if one[e] > 0.0] for one in (measured, predicted))
    return (
        f"The threshold mechanism errs less than {other} at {_told(errs)}, and costs less at "
        f"{_told(pays)}; costs name the better one at {len(_named(curves))} of {len(_EPSILONS)} "
        f"epsilons, and are wrong by a factor of up to {10.0**off:,.3g}."
    )


def _rows(series: Measured, epsilon: float) -> dict[str, float]:
    return {**series.rows(seen(epsilon), ("forward",)), **series.rows(epsilon, _KINDS)}


def _least(curves: dict[str, list[tuple[float, float]]], epsilon: float) -> str:
    errors = {name: dict(curve)[epsilon] for name, curve in curves.items()}
    best = min(errors, key=errors.__getitem__)
    alike = errors.get("threshold", errors[best]) <= errors[best]
    return "threshold" if alike else best


def _told(epsilons: list[float]) -> str:
    return f"epsilon {listed(epsilons)}" if epsilons else "no epsilon"
