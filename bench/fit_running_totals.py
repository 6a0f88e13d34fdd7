"""Fit the buffers of running totals: `python -m bench.fit_running_totals` writes the table.

With a number, horizons end at that power of two.

For each horizon T and each number k of ticks that one person counts in, both powers of two, the
weights and factors of one to three buffers are chosen that make

    (largest norm of C over k columns) * (root mean square error of the totals of T ticks)

small, by a search that depends on the machine. So the table is shipped, and nothing is fitted at
start. Any entry keeps the promise; a poor one costs accuracy only.

Source: continual release specification, section 3.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.signal import lfilter

from fugu.operators.mechanism import Floats
from fugu.operators.totals.buffers import UNIT, Buffers

FITTED = Path(__file__).parents[1] / "operators" / "totals" / "fitted.py"
LARGEST = 15
"""The exponent of the longest horizon."""
BUFFERS = 3
_SEARCHES = 2
_NOTHING_GAINED = Buffers((1,), (0,))
"""Buffers that do not mix: none are better where a person counts in every tick."""
_STARTS = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)
_BEGIN, _END = 'TABLE = """\n', '\n"""\n'
"""Mark where the table begins and ends in its module."""


@dataclass(frozen=True)
class Goal:
    """Measure buffers for `ticks` of which one person counts in `counted`."""

    ticks: int
    counted: int

    def of(self, weights: Floats, factors: Floats) -> float:
        """Return the product that is to be small."""
        impulse = np.zeros(self.ticks)
        impulse[0] = 1.0
        below, above = np.array([1.0]), np.array([0.0])
        for weight, factor in zip(weights, factors, strict=True):
            above = np.convolve(above, [1.0, -factor])
            above[: len(below)] += weight * below
            below = np.convolve(below, [1.0, -factor])
        mixing = below + np.concatenate([[0.0], above[: len(below) - 1]])
        column = lfilter(mixing, below, impulse)
        decoding = lfilter(below, np.convolve(mixing, [1.0, -1.0]), impulse)
        sums = np.cumsum(column)
        sums[self.counted :] -= sums[: -self.counted].copy() if self.counted < self.ticks else 0.0
        errors = np.cumsum(decoding**2)
        return float(np.sqrt(np.sum(sums**2) * np.mean(errors)))

    def of_parameters(self, parameters: Floats) -> float:
        """Return the same of unbounded parameters."""
        weights, factors = unbounded_as_buffers(parameters, self.ticks)
        value = self.of(weights, factors)
        return value if np.isfinite(value) else 1e300


def unbounded_as_buffers(parameters: Floats, ticks: int) -> tuple[Floats, Floats]:
    """Return weights with a sum of at most 1, and factors below 1, of any numbers.

    Factors stay so far below 1 that buffers do not grow beyond 64 bits.
    """
    half = len(parameters) // 2
    grown = np.exp(np.clip(parameters[:half], -40.0, 40.0))
    factors = (1.0 - 1.0 / (4.0 * ticks)) / (1.0 + np.exp(np.clip(-parameters[half:], -40.0, 40.0)))
    return grown / (1.0 + np.sum(grown)), factors


def as_integers(weights: Floats, factors: Floats) -> Buffers:
    """Return the nearest buffers that may be, slowest last."""
    order = np.argsort(factors)
    whole = [max(1, int(weight * UNIT)) for weight in weights[order]]
    return Buffers(
        tuple(whole), tuple(min(UNIT - 1, round(factor * UNIT)) for factor in factors[order])
    )


def fit(goal: Goal, near: list[Floats]) -> tuple[float, Floats]:
    """Return the best that searches from several starts find."""
    starts = list(near)
    for number in range(1, BUFFERS + 1):
        for shift in range(len(_STARTS) - number + 1):
            chosen = np.array(_STARTS[shift : shift + number])
            weights = np.full(number, -2.0 - np.log10(goal.counted + 1.0))
            starts.append(np.concatenate([weights, np.log(chosen / (1.0 - chosen))]))
    found = sorted(
        ((goal.of_parameters(start), place, start) for place, start in enumerate(starts)),
        key=lambda entry: entry[:2],
    )
    results = []
    for _, _, start in found[:_SEARCHES]:
        result = minimize(
            goal.of_parameters,
            start,
            method="Nelder-Mead",
            options={"maxiter": 400, "xatol": 1e-5, "fatol": 1e-10, "adaptive": True},
        )
        results.append((float(result.fun), result.x))
    return min(results, key=lambda entry: entry[0])


def main() -> None:
    """Fit all entries, longer horizons from what shorter ones found."""
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else LARGEST
    lines: list[str] = []
    before: dict[int, Floats] = {}
    for exponent in range(largest + 1):
        ticks, here = 2**exponent, dict[int, Floats]()
        for counted in (2**small for small in range(exponent + 1)):
            near = [
                known[at] for known, at in ((before, counted), (here, counted // 2)) if at in known
            ]
            value, here[counted] = fit(Goal(ticks, counted), near)
            buffers = as_integers(*unbounded_as_buffers(here[counted], ticks))
            if counted == ticks:
                buffers = _NOTHING_GAINED
            numbers = [ticks, counted, *buffers.weights, *buffers.factors]
            lines.append(" ".join(map(str, numbers)))
            print(ticks, counted, round(value, 4), file=sys.stderr, flush=True)
        before = here
        opening, rest = FITTED.read_text().split(_BEGIN, 1)
        behind = rest.split(_END, 1)[1]
        FITTED.write_text(opening + _BEGIN + "\n".join(lines) + _END + behind)


if __name__ == "__main__":
    main()
