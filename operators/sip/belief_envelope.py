"""Beliefs under every model of a set: an interval for each probability."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fugu.operators.mechanism import Array, Floats, Integers
from fugu.operators.sip.markov_model import SUM_TOLERANCE, ordered_sum
from fugu.operators.sip.model_intervals import ModelIntervals, tightened
from fugu.operators.sip.privacy_bound import UNIT_ROUNDOFF, UP


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
