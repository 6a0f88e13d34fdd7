"""Define the only two messages: what a collector asks of its users at a tick, and their answer."""

from dataclasses import dataclass

import numpy as np

from fugu.operators.mechanism import Integers


@dataclass(frozen=True)
class Instruction:
    """Ask for a second report at a tick, which is published.

    `amount` says how much of the resource it may take, 0 for no such report: the budget of every
    user, in units of 2^-40 nat, or the share of users that report, in units of 2^-32 of all.
    `first` is where these users begin, among those that are there for publications.
    """

    amount: int = 0
    first: int = 0


NOTHING = Instruction()
"""Ask for no second report: what a tick does of which no instruction can know."""

PRESENT = 0
"""The place of the number of users who are there, in a tally."""


@dataclass(frozen=True, eq=False)
class Tally:
    """Hold how many users are there, and how many reports of both phases support each symbol.

    `reports (rows, 2)` counts those that decide and those that are published, and `supports (rows,
    2, symbols)` what they support. Nothing here is a true value, except who is there.
    """

    present: Integers
    reports: Integers
    supports: Integers

    @classmethod
    def of(cls, vectors: Integers, symbols: int) -> "Tally":
        """Return what vectors `(rows, 3 + 2 symbols)` hold; several of one tick add up."""
        if vectors.ndim != 2 or vectors.shape[1] != length(symbols):
            raise ValueError(
                f"values must be tallies of {length(symbols)} numbers, not of shape "
                f"{vectors.shape[1:]}"
            )
        numbers = vectors.astype(np.int64)
        return cls(numbers[:, PRESENT], numbers[:, 1:3], numbers[:, 3:].reshape(-1, 2, symbols))

    @property
    def vectors(self) -> Integers:
        """Return the same as vectors."""
        flat = self.supports.reshape(len(self.present), -1)
        return np.concatenate([self.present[:, None], self.reports, flat], axis=1)


def length(symbols: int) -> int:
    """Return how many numbers a tally has."""
    return 3 + 2 * symbols
