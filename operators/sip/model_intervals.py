"""A set of Markov chains: an interval for every probability of a model."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import isfinite

import numpy as np

from fugu.operators.byte_fields import binding_digest
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.markov_model import ROUNDED_SUM, MarkovModel, ordered_sum
from fugu.operators.sip.privacy_bound import UNIT_ROUNDOFF

LARGEST_ALPHABET = 64
"""Every step sorts n numbers for each of n symbols."""
_SMALLEST_CORNER = 1e-9
_ROUNDED = 10.0 * ROUNDED_SUM
_OUTWARDS = 16 * UNIT_ROUNDOFF
"""Covers the roundings of an end, and of the sums that the exact model divides by."""


@dataclass(frozen=True, eq=False)
class ModelIntervals:
    """Hold intervals around the probabilities of a chain: the model is any chain within them.

    `first_low` and `first_high` `(n,)` are about the first symbol, `low` and `high` `(n, n)` about
    what follows: row u is the law of what follows u. A member may take other rows within the
    intervals at every step, so chains whose probabilities drift are members, too. Intervals are
    tightened by what the others of their row leave: no member is lost. `confidence` is that of
    learned intervals (`model_confidence`): no law depends on it.

    Raises `ValueError` for an end that is not between 0 and 1, or a row that no distribution fits.

    >>> model = MarkovModel(np.full(2, 0.5), np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> around = ModelIntervals.around(model, share=0.1)
    >>> around.low.round(2).tolist(), around.high.round(2).tolist()
    ([[0.89, 0.09], [0.18, 0.78]], [[0.91, 0.11], [0.22, 0.82]])
    >>> around.contains(model)
    True

    Source: symbol sampling specification, section 7.
    """

    first_low: Floats
    first_high: Floats
    low: Floats
    high: Floats
    confidence: float | None = None

    def __post_init__(self) -> None:
        for name in ("first_low", "first_high", "low", "high"):
            object.__setattr__(self, name, np.array(getattr(self, name), dtype=np.float64))
        for name, low, high in self._rows():
            if not (np.isfinite(low) & np.isfinite(high) & (low >= 0.0) & (low <= high)).all():
                raise ValueError(f"{name}: every interval must go from 0 or more up to its end")
            slack = _OUTWARDS * len(low)
            if not (low.sum() <= 1.0 + slack and high.sum() >= 1.0 - slack):
                raise ValueError(f"{name}: no probabilities within the intervals sum to 1")
        first = tightened(self.first_low[:, None], self.first_high[:, None])
        low, high = tightened(self.low.T, self.high.T)
        ends = (first[0][:, 0], first[1][:, 0], low.T, high.T)
        for name, end in zip(("first_low", "first_high", "low", "high"), ends, strict=True):
            tight = np.ascontiguousarray(end)
            tight.setflags(write=False)
            object.__setattr__(self, name, tight)

    @classmethod
    def around(
        cls, model: MarkovModel, *, share: float = 0.0, amount: float = 0.0
    ) -> "ModelIntervals":
        """Let each probability p be off by `share` of p, and by `amount`.

        Raises `ValueError` unless both are at least 0 and below 1.
        """
        for name, given in (("share", share), ("amount", amount)):
            if not (isfinite(given) and 0.0 <= given < 1.0):
                raise ValueError(f"within: {name} must be at least 0 and below 1, not {given}")
        first = _ends(model.prior, share, amount, model.excess)
        return cls(*first, *_ends(model.transition, share, amount, model.excess))

    @property
    def symbols(self) -> int:
        """Return n, the size of the alphabet."""
        return len(self.first_low)

    @cached_property
    def widths(self) -> Floats:
        """Return how wide each interval is."""
        ends = (self.first_high - self.first_low, (self.high - self.low).ravel())
        return np.concatenate(ends)

    @cached_property
    def rising(self) -> Integers:
        """Return, for each next symbol, the symbols before it by the lower ends of its column."""
        return np.argsort(self.low, axis=0, kind="stable")

    @cached_property
    def falling(self) -> Integers:
        """Return the same by the upper ends, the largest first."""
        return np.argsort(-self.high, axis=0, kind="stable")

    def contains(self, model: MarkovModel) -> bool:
        """Return whether a chain is a member, up to what its rows in doubles may miss the sum 1."""
        first = _inside(model.prior, self.first_low, self.first_high)
        return first and _inside(model.transition, self.low, self.high)

    def members(self) -> Iterator[MarkovModel]:
        """Yield members at corners of the set: the stickiest chain, the one that moves most, and,
        for each symbol, the one where it is most and least likely, first and later."""
        for wish in _wishes(self.symbols):
            for first in (wish[0], -wish[0]):
                rows = [
                    _corner(low, high, wanted)
                    for low, high, wanted in zip(self.low, self.high, wish, strict=True)
                ]
                prior = _corner(self.first_low, self.first_high, first)
                yield MarkovModel(prior, np.array(rows))

    def identity(self) -> tuple[bytes, ...]:
        """Return every number of the set, for digests."""
        ends = self.first_low, self.first_high, self.low, self.high
        return tuple(end.astype("<f8").tobytes() for end in ends)

    @property
    def number(self) -> int:
        """Return 48 bits that tell this set from others, for promises."""
        return int.from_bytes(binding_digest(*self.identity())[:6])

    def _rows(self) -> Iterator[tuple[str, Floats, Floats]]:
        yield "prior", self.first_low, self.first_high
        for number, (low, high) in enumerate(zip(self.low, self.high, strict=True)):
            yield f"transition row {number}", low, high


def _inside(probabilities: Floats, low: Floats, high: Floats) -> bool:
    above, below = low - _ROUNDED <= probabilities, probabilities <= high + _ROUNDED
    return bool((above & below).all())


def tightened(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Cut intervals of probabilities `(n, rows)` to what the others leave, rounded outwards."""
    least, most = ordered_sum(low), ordered_sum(high)
    slack = (8 * len(low) + 64) * UNIT_ROUNDOFF
    others_most = (most - high) + slack * (1.0 + most)
    others_least = (least - low) - slack * (1.0 + least)
    tight_low = np.maximum(low, 1.0 - others_most)
    tight_high = np.minimum(high, np.minimum(1.0, 1.0 - others_least))
    return np.minimum(tight_low, tight_high), tight_high


def _ends(
    probabilities: Floats, share: float, amount: float, excess: float
) -> tuple[Floats, Floats]:
    """Return the ends of the intervals, rounded outwards and cut to 0..1."""
    outwards = _OUTWARDS + 2.0 * excess
    low = (probabilities * (1.0 - share) - amount) * (1.0 - outwards) - amount * outwards
    high = (probabilities * (1.0 + share) + amount) * (1.0 + outwards)
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def _wishes(symbols: int) -> Iterator[Floats]:
    """Yield what is to be likely after each symbol: itself, others, one symbol, or all but one."""
    itself = np.eye(symbols)
    for wish in (itself, *(np.tile(one, (symbols, 1)) for one in itself)):
        yield wish
        yield -wish


def _corner(low: Floats, high: Floats, wish: Floats) -> Floats:
    """Return the distribution within an interval that grants the wish most; none is 0."""
    corner = np.minimum(np.maximum(low, _SMALLEST_CORNER), high)
    left = 1.0 - float(corner.sum())
    for place in np.argsort(-wish, kind="stable").tolist():
        added = min(left, float(high[place] - corner[place]))
        corner[place] += max(added, 0.0)
        left -= max(added, 0.0)
    return np.asarray(corner / corner.sum())
