"""One step of conditional randomized response for programs that work record by record.

It needs nothing but Python; where numba is installed, the arithmetic is compiled. The law is that
of `operators.sip.conditional_randomized_response` with its default kernel (a test compares them),
as fast as one record at a time allows: no ledger, no digest of the history, and the caller brings a
uniform number of its own. A belief is public: P(next symbol | all releases so far).

>>> from random import random
>>> step = ConditionalRandomizedResponse(["a", "b"], [0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], 1.0)
>>> belief = step.start()
>>> symbol, confidence = step.release(belief, step.index["b"], random())
>>> [round(float(share), 4) for share in step.start()], round(confidence, 4)
([0.5, 0.5], 0.8161)
"""

import json
from collections.abc import Sequence
from math import exp, expm1, fsum
from operator import mul
from pathlib import Path
from typing import Any

try:
    import numpy as np
    from crr_compiled import release_one, release_rows
except ImportError:
    COMPILED = False
else:
    COMPILED = True

_TIE = 1e-12
_STEPS = 10_000

Belief = Any
"""An array of floats where numba is installed, else a list of floats."""


class ConditionalRandomizedResponse:
    """The law for one model and one epsilon; `compiled=False` uses Python alone all the same."""

    def __init__(
        self,
        alphabet: Sequence[str],
        prior: Sequence[float],
        transition: Sequence[Sequence[float]],
        epsilon: float,
        smoothing: float = 0.001,
        *,
        compiled: bool = True,
    ) -> None:
        self.alphabet = list(alphabet)
        self.index = {symbol: number for number, symbol in enumerate(alphabet)}
        self.prior = _smoothed(prior, smoothing)
        self.transition = [_smoothed(row, smoothing) for row in transition]
        self._from = [list(column) for column in zip(*self.transition, strict=True)]
        self._gain, self._growth = expm1(epsilon), exp(epsilon)
        self._starts = [
            f'{{"zone":{json.dumps(symbol)},"confidence":'.encode() for symbol in alphabet
        ]
        self._ends = [b"%.4f}" % (step / _STEPS) for step in range(_STEPS + 1)]
        self.compiled = compiled and COMPILED
        if self.compiled:
            self._chain = np.array(self.transition)
            self._scratch = np.zeros((8, len(self.alphabet)))
            self._scratch[0, :2] = self._gain, self._growth
            self.release(self.start(), 0, 0.5)
            self.release_many(
                self.start()[None], *(np.zeros(1, kind) for kind in (int, int, float))
            )

    @classmethod
    def of_file(
        cls, path: str | Path, epsilon: float, *, compiled: bool = True
    ) -> "ConditionalRandomizedResponse":
        """With the model of a file as `fugu model` writes it."""
        model = json.loads(Path(path).read_bytes())
        return cls(
            model["alphabet"],
            model["prior"],
            model["transition"],
            epsilon,
            model["smoothing"],
            compiled=compiled,
        )

    def start(self) -> Belief:
        """The belief about a user of whom nothing was released."""
        return np.array(self.prior) if self.compiled else list(self.prior)

    def release(self, belief: Belief, symbol: int, uniform: float) -> tuple[int, float]:
        """The released symbol and its confidence; the belief advances in place."""
        if self.compiled:
            released, confidence = release_one(belief, symbol, uniform, self._chain, self._scratch)
            return released, confidence
        belief[:], released, confidence = self._released(belief, symbol, uniform)
        return released, confidence

    def after(
        self, belief: Sequence[float], symbol: int, uniform: float
    ) -> tuple[Belief, int, float]:
        """Belief, released symbol and confidence; what is handed in stays as it is."""
        if self.compiled:
            advanced = np.array(belief)
            return advanced, *self.release(advanced, symbol, uniform)
        return self._released(belief, symbol, uniform)

    def release_many(self, beliefs: Any, rows: Any, symbols: Any, uniforms: Any) -> tuple[Any, Any]:
        """One release after the other, in one call: needs numba.

        `beliefs` is `(users, symbols)` and advances in place; the others have one entry for each
        record: the user's row, the true symbol, a number in [0, 1).
        """
        released, confidences = np.empty(len(rows), np.int64), np.empty(len(rows))
        release_rows(
            beliefs, rows, symbols, uniforms, self._chain, self._scratch, released, confidences
        )
        return released, confidences

    def decode(self, value: bytes) -> int:
        """The symbol of a raw record."""
        return self.index[json.loads(value)["zone"]]

    def encode(self, symbol: int, confidence: float) -> bytes:
        """The value of a released record."""
        return self._starts[symbol] + self._ends[int(confidence * _STEPS + 0.5)]

    def _released(
        self, belief: Sequence[float], symbol: int, uniform: float
    ) -> tuple[list[float], int, float]:
        """The next belief, the released symbol and its confidence, in Python alone.

        Loops over symbols; `crr_compiled.release_one` says what is computed.
        """
        gain, growth = self._gain, self._growth
        symbols = len(belief)
        order = sorted(range(symbols), key=belief.__getitem__, reverse=True)
        kept, partial, own, into = _best(belief, order, gain, growth)
        if kept == 1 and partial < 0:
            posterior = belief
            released = order[0]
        else:
            floor = 1.0 / (growth + 1.0)
            whole = order[:kept]
            lifts = [lift if (lift := floor - belief[y]) > 0.0 else 0.0 for y in whole]
            rest = fsum(belief[y] for y in order[kept:])
            if partial >= 0:
                deficit = sum(lifts)
                shares = [lift / deficit for lift in lifts]
                fills = [(1.0 - into) * share for share in shares]
                moved = belief[partial] * (1.0 - own)
                others = rest - belief[partial]
                marginals = [
                    belief[y] + others * fill + moved * share
                    for y, fill, share in zip(whole, fills, shares, strict=True)
                ]
            else:
                scale = max(rest, sum(lifts)) or 1.0
                shares = fills = [lift / scale for lift in lifts]
                fills[0] += max(0.0, 1.0 - sum(fills))
                if kept == symbols:
                    shares = fills = [0.0] * symbols
                marginals = [belief[y] + rest * fill for y, fill in zip(whole, fills, strict=True)]
            masses = [b if (least := 1.0 - growth * b) <= b else least for b in marginals]
            if partial >= 0:
                marginal = belief[partial] * own + others * into
                whole.append(partial)
                fills.append(into)
                shares.append(0.0)
                marginals.append(marginal)
                masses.append(max(marginal, max(own, into) - growth * marginal))
            weights = [0.0] * symbols
            if symbol == partial:
                for y, mass, share in zip(whole, masses, shares, strict=True):
                    weights[y] = mass + gain * (1.0 - own) * share
                weights[symbol] += gain * own
            elif symbol in whole:
                for y, mass in zip(whole, masses, strict=True):
                    weights[y] = mass
                weights[symbol] += gain
            else:
                for y, mass, fill in zip(whole, masses, fills, strict=True):
                    weights[y] = mass + gain * fill
            left = uniform * sum(weights)
            released = whole[0]
            for y, weight in enumerate(weights):
                left -= weight
                if left < 0.0:
                    released = y
                    break
            place = whole.index(released)
            mass = masses[place]
            elsewhere = mass + gain * fills[place]
            ratios = [elsewhere] * symbols
            for y in whole:
                ratios[y] = mass
            if partial >= 0:
                ratios[partial] = mass + gain * (1.0 - own) * shares[place]
            ratios[released] += gain * (own if released == partial else 1.0)
            joint = list(map(mul, belief, ratios))
            total = sum(joint)
            posterior = [share / total for share in joint]
        after = [sum(map(mul, posterior, column)) for column in self._from]
        total = sum(after)
        return [share / total for share in after], released, posterior[released]


def _best(
    belief: Sequence[float], order: list[int], gain: float, growth: float
) -> tuple[int, int, float, float]:
    """Return how many symbols are kept, which one in part (or -1), how often, and what moves."""
    symbols, floor = len(order), 1.0 / (growth + 1.0)
    first = belief[order[0]]
    mass = big_squares = small_squares = small_mass = deficit = 0.0
    small_count = 0
    best, kept, accuracies = -1.0, 1, []
    lacking, lacking_rest, lacking_deficit = 0, 0.0, 0.0
    for count, y in enumerate(order, start=1):
        b = belief[y]
        mass += b
        if b < floor:
            small_squares += b * b
            small_mass += b
            small_count += 1
            deficit += floor - b
        else:
            big_squares += b * b
        rest = 1.0 - mass
        if rest < 0.0:
            rest = 0.0
        if count == 1:
            accuracy = b
        elif rest >= deficit:
            surplus = rest - deficit
            accuracy = (big_squares + floor * small_mass + first * surplus + gain * mass) / growth
        else:
            share = rest / deficit
            lifted = small_count * floor - small_mass
            hit = (
                big_squares
                + small_mass
                - growth * (small_squares + share * (floor * small_mass - small_squares))
            )
            repaired = mass - small_mass + small_count - growth * (small_mass + share * lifted)
            accuracy = (hit + gain * mass) / (gain + repaired)
        if rest > deficit > 0.0:
            lacking, lacking_rest, lacking_deficit = count, rest, deficit
        accuracies.append(accuracy)
        if accuracy > best:
            best = accuracy
    kept = symbols
    while accuracies[kept - 1] < best - _TIE:
        kept -= 1
    if 0 < lacking < symbols:
        partial = order[lacking]
        b, surplus = belief[partial], lacking_rest - lacking_deficit
        if surplus < floor <= lacking_rest and b < floor:
            own = (growth + 1.0) * surplus
            into = surplus * (1.0 - (growth + 1.0) * b) / (lacking_rest - b)
            into = min(max(into, 0.0), 1.0)
            others, moved = lacking_rest - b, b * (1.0 - own)
            marginal = b * own + others * into
            total = max(marginal, max(own, into) - growth * marginal)
            hit = b * total + gain * b * own
            for y in order[:lacking]:
                b = belief[y]
                share = (floor - b) / lacking_deficit if b < floor else 0.0
                marginal = b + (others * (1.0 - into) + moved) * share
                one = max(marginal, 1.0 - growth * marginal)
                hit += b * one + gain * b
                total += one
            if hit / (gain + total) > best + _TIE:
                return lacking, partial, own, into
    return kept, -1, 0.0, 0.0


def _smoothed(row: Sequence[float], smoothing: float) -> list[float]:
    total = fsum(row)
    return [float((1.0 - smoothing) * share / total + smoothing / len(row)) for share in row]
