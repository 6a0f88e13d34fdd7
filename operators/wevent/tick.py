"""One tick of all rows: noise on true vectors, the dissimilarity test, and what is told of both."""

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.byte_fields import binding_digest
from fugu.operators.mechanism import Draws, Floats, Integers, Kind, State
from fugu.operators.noise.unit_laplace import WORDS_PER_DRAW, sample
from fugu.operators.randomness import draws_of
from fugu.operators.wevent.allocation import Booleans, Offer

LARGEST_DISTANCE = 2**45
"""Over all bins distances sum to 2^62 at most, which leaves room in 64 bits for noise: 2^46."""


@dataclass(frozen=True)
class Tick:
    """Draw the noise of a tick on true vectors `values (rows, bins)`.

    `sensitivity` is that of every row `(rows,)`, or one for all, in units.
    """

    state: State
    values: Integers
    draws: Draws
    sensitivity: int | Integers

    def noisy(self, rows: Integers, numbers: Integers, budgets: Integers, purpose: str) -> Integers:
        """Add noise to `numbers (len(rows), coordinates)`, at the `budgets` of all rows in units.

        A draw is bound to the true vector, to the budget, and to everything released before.
        """
        if not len(rows):
            return numbers
        charged, sensitivity = budgets[rows], self._sensitivity(rows)
        bindings = [
            binding_digest(vector.tobytes(), history, budget, units)
            for vector, history, budget, units in zip(
                self.values[rows].astype(">i8"),
                self.state["history"][rows].view(np.int64).tolist(),
                charged.tolist(),
                sensitivity.tolist(),
                strict=True,
            )
        ]
        words = draws_of(self.draws, rows, len(self.values)).words(
            purpose, bindings, coordinates=numbers.shape[1], count=WORDS_PER_DRAW
        )
        return numbers + sample(words, (charged // sensitivity)[:, None])

    def dissimilar(self, rows: Integers, offer: Offer) -> Booleans:
        """Return the noisy dissimilarity test of rows to which a publication is offered."""
        distances = np.abs(self.state["released"][rows] - self.values[rows])
        apart = np.minimum(distances, LARGEST_DISTANCE).sum(axis=1)
        noisy = self.noisy(rows, apart[:, None], offer.decision, "dissimilarity")[:, 0]
        price = offer.publication[rows] // self._sensitivity(rows)
        return np.asarray(noisy > (self.values.shape[1] << 40) // price)

    def _sensitivity(self, rows: Integers) -> Integers:
        return np.broadcast_to(self.sensitivity, len(self.values))[rows]


def digests(published: Booleans, released: Integers) -> Integers:
    """Return the event that each row adds to its history: 0 where nothing is published."""
    events = np.zeros(len(published), dtype=np.int64)
    for row in np.flatnonzero(published):
        digest = blake2b(released[row].astype(">i8").tobytes(), digest_size=8).digest()
        events[row] = int.from_bytes(digest, "big", signed=True)
    return events


def standard_errors(price: Integers) -> Floats:
    """Return sqrt(2) scales of the noise at this price: a little too much for scales near 1."""
    scale = UNITS_PER_NAT / np.where(price > 0, price, 1)
    return np.where(price > 0, np.sqrt(2.0 * scale * scale), np.nan)


def kinds_of(published: Booleans) -> Integers:
    """Return the kind of each release: fresh, or repeated."""
    return np.where(published, np.int64(Kind.FRESH), np.int64(Kind.REPEATED))
