"""Describe sets of Markov chains by intervals, and bound the beliefs that they lead to."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import isfinite

import numpy as np

from fugu.operators.columns import binding_digest
from fugu.operators.mechanism import Array, Floats, Integers
from fugu.operators.sip.markov_model import ROUNDED_SUM, SUM_TOLERANCE, MarkovModel, ordered_sum
from fugu.operators.sip.privacy_bound import UNIT_ROUNDOFF, UP

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


@dataclass(frozen=True, eq=False)
class BeliefEnvelope:
    """Hold `low` and `high` of each probability, `(n, rows)`: every exact belief is between them.

    What a sum over a belief may be at least and at most is found greedily: every symbol has its
    `low`, and the rest of the mass goes where the sum is smallest, or largest, up to `high`. All
    roundings go outwards: the rest by an absolute slack, results by a relative one, so that the
    interval of the exact numbers is always inside.

    A model of the set may choose its rows anew at every step: `predicted` takes the extremes of
    each row by itself.

    >>> envelope = BeliefEnvelope(np.array([[0.4], [0.5]]), np.array([[0.5], [0.6]]))
    >>> [bound.round(6).tolist() for bound in envelope.means(np.array([[[1.0]], [[0.0]]]))]
    [[[0.4]], [[0.5]]]

    Source: symbol sampling specification, section 7 ("Envelope").
    """

    low: Floats
    high: Floats

    @classmethod
    def between(cls, low: Floats, high: Floats) -> "BeliefEnvelope":
        """Tighten intervals by what the others leave: probabilities sum to 1."""
        return cls(*tightened(low, high))

    def means(self, kernel: Array) -> tuple[Floats, Floats]:
        """Return the least and the largest sum of belief(x) kernel(x, k, rows), each `(k, rows)`.

        Entries of the kernel are at least 0.
        """
        values = kernel.astype(np.float64)
        least = np.argsort(values, axis=0, kind="stable")
        most = np.argsort(-values, axis=0, kind="stable")
        return self._least(values, least), self._most(values, most)

    def corrected(self, likelihood: Floats) -> "BeliefEnvelope":
        """Return the envelope after a release that had this `likelihood (n, rows)`.

        A truth that cannot have led to the release, likelihood 0, has probability 0 from then on.
        """
        rising = np.argsort(likelihood, axis=0, kind="stable")
        others_least = self._others(likelihood, rising, self._least_rest - self._room)
        others_most = self._others(likelihood, rising[::-1], self._most_rest)
        down, up = _factors(len(likelihood))
        low, high = self.low * likelihood, self.high * likelihood
        post_low = _share(low, others_most * up) * down
        post_high = _share(high, others_least * down) * up
        return BeliefEnvelope.between(post_low, np.minimum(post_high, 1.0))

    def predicted(self, models: ModelIntervals) -> "BeliefEnvelope":
        """Return the envelope one step of the chain later."""
        low = self._least(models.low[:, :, None], models.rising[:, :, None])
        high = self._most(models.high[:, :, None], models.falling[:, :, None])
        return BeliefEnvelope.between(low, np.minimum(high, 1.0))

    def columns(self, columns: Integers) -> "BeliefEnvelope":
        """Return some of its columns."""
        return BeliefEnvelope(self.low[:, columns], self.high[:, columns])

    @cached_property
    def _room(self) -> Floats:
        """Return what each probability may have above its `low`, rounded up."""
        return np.asarray((self.high - self.low) * UP)

    @cached_property
    def _least_rest(self) -> Floats:
        """Return the mass above all `low`, or less."""
        return np.maximum(1.0 - ordered_sum(self.low) - _slack(len(self.low)), 0.0)

    @cached_property
    def _most_rest(self) -> Floats:
        """Return the mass above all `low`, or more."""
        return np.maximum(1.0 - ordered_sum(self.low) + _slack(len(self.low)), 0.0)

    def _least(self, values: Floats, order: Integers) -> Floats:
        down, _ = _factors(len(values))
        return self._filled(values, order, self._least_rest) * down

    def _most(self, values: Floats, order: Integers) -> Floats:
        _, up = _factors(len(values))
        return self._filled(values, order, self._most_rest) * up

    def _filled(self, values: Floats, order: Integers, rest: Floats) -> Floats:
        """Return the sum over x where the `rest` goes to the first in the `order` of each k.

        Values and order are `(x, k, rows)`, or the same for all rows and `(x, k, 1)`.
        """
        shared = _shared(_in_order(self._room[:, None], order), rest)
        in_order = _in_order(values, order)
        filled: Floats = ordered_sum(self.low[:, None] * values) + ordered_sum(shared * in_order)
        return filled

    def _others(self, likelihood: Floats, order: Integers, rest: Floats) -> Floats:
        """Return, for each x, the sum over the others, to whom so much `rest` goes in `order`."""
        itself = order[:, None] == np.arange(len(order))[:, None]
        room = np.take_along_axis(self._room, order, axis=0)[:, None]
        low = np.take_along_axis(self.low, order, axis=0)[:, None]
        weight = np.take_along_axis(likelihood, order, axis=0)[:, None]
        shared = _shared(np.where(itself, 0.0, room), np.maximum(rest, 0.0))
        return ordered_sum(np.where(itself, 0.0, low + shared) * weight)


def _share(part: Floats, others: Floats) -> Floats:
    """Return part / (part + others); 0 where the part is 0."""
    total = part + others
    return np.asarray(np.divide(part, total, out=np.zeros_like(total), where=part > 0.0))


def checked_envelope(low: Floats, high: Floats) -> BeliefEnvelope:
    """Return the envelope that columns of a state hold; `ValueError` names a row that holds none.

    A belief is between its ends: 0 <= low <= high, and 1 is between their sums.
    """
    right = (np.isfinite(low) & np.isfinite(high) & (low >= 0.0) & (low <= high)).all(axis=0)
    right &= ordered_sum(low) <= 1.0 + SUM_TOLERANCE
    right &= ordered_sum(high) >= 1.0 - SUM_TOLERANCE
    if not right.all():
        raise ValueError(f"the envelope of row {int(np.argmin(right))} holds no distribution")
    return BeliefEnvelope(low, high)


def _shared(room: Floats, rest: Floats) -> Floats:
    """Share out the `rest` along the first axis: as much as there is room, first come."""
    before = np.zeros_like(room)
    for place in range(1, len(room)):
        np.add(before[place - 1], room[place - 1], out=before[place])
    return np.minimum(room, np.maximum(rest - before, 0.0))


def _in_order(values: Floats, order: Integers) -> Floats:
    """Return the values of each k and row in its order; a single k or row stands for all.

    `np.take_along_axis` gives the same, and takes three times as long.
    """
    _, several, rows = values.shape
    column = np.arange(rows) + rows * np.arange(several)[:, None]
    flat = np.ascontiguousarray(values).ravel()
    return np.asarray(flat[order * (several * rows) + column])


def _slack(symbols: int) -> float:
    """Return more than the absolute error of a mass that is left, and of sums of what is shared."""
    return (8 * symbols + 64) * UNIT_ROUNDOFF


def _factors(symbols: int) -> tuple[float, float]:
    """Return factors that cover the relative error of any sum here, downwards and upwards."""
    margin = (8 * symbols + 64) * UNIT_ROUNDOFF
    return 1.0 - margin, 1.0 + margin
