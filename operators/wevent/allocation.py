"""Allot the budget of every window of w ticks to its ticks."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fugu.operators.budget_units import UNITS_PER_NAT, add_spent
from fugu.operators.mechanism import Array, Integers, State
from fugu.operators.noise.grid import counted


@dataclass(frozen=True)
class Cap:
    """Limit what a tick is charged, in units of 2^-40 nat: its decision, and its publication.

    Source: PBA specification, section 6 (guard).
    """

    decision: int
    publication: int

    @classmethod
    def within(cls, largest_epsilon: float, decision: int, sensitivity: int = 2) -> "Cap":
        """Return the caps that keep a tick within `largest_epsilon` nats under a change.

        `decision`: what a decision costs uncapped, in units; it gets at most half. `sensitivity`:
        that of a change (2, or a local mechanism), or of adding a user (1). Caps round down.

        >>> Cap.within(0.5, decision=2**40 // 20)
        Cap(decision=54975581388, publication=494780232500)
        """
        if sensitivity not in (1, 2):
            raise ValueError(f"sensitivity: must be 1 or 2, not {sensitivity}")
        both = int(Fraction(largest_epsilon) * UNITS_PER_NAT * sensitivity / 2)
        capped = min(decision, both // 2)
        return cls(capped, both - capped)


Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Offer:
    """State what the current tick may cost each row, in units of 2^-40 nat."""

    decision: Integers
    """Charged in any case."""
    publication: Integers
    """Charged if something is published; 0 where nothing can be."""
    share: Integers
    """The share that the rule will remember of a publication."""


@dataclass(frozen=True)
class Rule(ABC):
    """Spread `epsilon` units of 2^-40 nat over every `window` consecutive ticks.

    Claim. Whatever is published and skipped, and whatever the flags say, no `window` consecutive
    ticks are charged more than `epsilon`. Budgets are integers, and halving rounds down, so the
    claim holds in exact arithmetic; `settle` checks it again at every tick.

    A rule first makes an `Offer`: what a look at the data costs (`decision`, always charged), and
    what a publication would cost now (0 where none is possible, or where it could be offered fewer
    than `smallest` units). `settle` then moves the state on, given what was published.

    >>> rule = BudgetDistribution(window=2, epsilon=80)
    >>> state, flags = rule.start(1), np.zeros(1, dtype=bool)
    >>> for _ in range(3):
    ...     offer = rule.offer(state, flags)
    ...     state = rule.settle(state, offer, offer.publication > 0)
    ...     print(offer.decision[0], offer.publication[0])
    20 20
    20 10
    20 15

    Source: PBA specification, sections 2, 4, 6 (caps) and 8.
    """

    window: int
    epsilon: int
    smallest: int = 1
    cap: Cap | None = None

    decides: ClassVar[bool] = True
    """True if the data decide on a publication, which costs a `decision`."""

    @property
    def decision(self) -> int:
        """Return what the decision of a tick is charged: half the budget, spread evenly."""
        if not self.decides:
            return 0
        share = self.epsilon // (2 * self.window)
        return share if self.cap is None else min(share, self.cap.decision)

    @property
    def most(self) -> int:
        """Return the most units that a window is charged."""
        uncapped = self._most()
        if self.cap is None:
            return uncapped
        return min(uncapped, self.window * (self.decision + self.cap.publication))

    @abstractmethod
    def _most(self) -> int:
        """Return the most units that a window is charged without a cap."""

    @property
    @abstractmethod
    def largest(self) -> int:
        """Return the most units that a publication is offered, before a cap."""

    def start(self, rows: int) -> State:
        """Return the state before the first tick; `recent` holds the last `window - 1` charges."""
        return {
            "tick": np.zeros(rows, dtype=np.int64),
            "recent": np.zeros((rows, self.window - 1), dtype=np.int64),
            "spent": np.zeros(rows, dtype=np.int64),
        }

    @abstractmethod
    def offer(self, state: State, flags: Booleans) -> Offer:
        """Make the offer of the next tick; `flags` says for which rows correlation is reported."""

    def settle(self, state: State, offer: Offer, published: Booleans) -> State:
        """Return the columns of the rule after this tick; `ArithmeticError` beyond epsilon."""
        charge = offer.decision + np.where(published, offer.publication, 0)
        if (state["recent"].sum(axis=1) + charge > self.epsilon).any():
            raise ArithmeticError(
                "budget: a window was about to be charged more than epsilon; the state is damaged, "
                "restore it from a snapshot"
            )
        return {
            "tick": state["tick"] + 1,
            "recent": pushed(state["recent"], charge),
            "spent": add_spent(state["spent"], charge),
        }

    def _offer(self, publication: Integers, share: Integers | None = None) -> Offer:
        """Cap the offer, and withdraw it below the resolution."""
        if self.cap is not None:
            publication = np.minimum(publication, self.cap.publication)
        publication = np.where(publication < self.smallest, 0, publication)
        if share is None:
            share = publication
        return Offer(np.full(len(publication), self.decision, dtype=np.int64), publication, share)


class Uniform(Rule):
    """Offer the same at every tick, without a decision."""

    decides = False

    def _most(self) -> int:
        return self.window * (self.epsilon // self.window)

    @property
    def largest(self) -> int:
        return self.epsilon // self.window

    def offer(self, state: State, flags: Booleans) -> Offer:
        return self._offer(np.full(len(flags), self.largest, dtype=np.int64))


class Sample(Rule):
    """Offer all of it at ticks 1, window + 1, 2 window + 1, ..."""

    decides = False

    def _most(self) -> int:
        return self.epsilon

    @property
    def largest(self) -> int:
        return self.epsilon

    def offer(self, state: State, flags: Booleans) -> Offer:
        return self._offer(np.where(state["tick"] % self.window == 0, self.epsilon, 0))


class BudgetDistribution(Rule):
    """Offer a publication half of what those of the window have left of their half."""

    def _most(self) -> int:
        pool = self.epsilon // 2
        for _ in range(self.window):
            pool -= pool // 2
        return self.window * self.decision + self.epsilon // 2 - pool

    @property
    def largest(self) -> int:
        """Return half of the half, where nothing else was published."""
        return self.epsilon // 2 // 2

    def start(self, rows: int) -> State:
        """Return also `shares`, what publications took from their half, tick by tick."""
        return {**super().start(rows), "shares": np.zeros((rows, self.window - 1), dtype=np.int64)}

    def offer(self, state: State, flags: Booleans) -> Offer:
        """Offer half of the rest."""
        return self._offer(self._half(state))

    def settle(self, state: State, offer: Offer, published: Booleans) -> State:
        """Return also `shares`; a tick without a publication takes nothing."""
        taken = np.where(published, offer.share, 0)
        return {**super().settle(state, offer, published), "shares": pushed(state["shares"], taken)}

    def _half(self, state: State) -> Integers:
        return np.asarray((self.epsilon // 2 - state["shares"].sum(axis=1)) // 2)


class PrivacyBudgetAllocation(BudgetDistribution):
    """Offer only one half of each share of budget distribution, unless the tick is flagged.

    In the words of the specification, s is half of what is computed here, a flagged publication
    absorbs as much again, and the pool is epsilon / 4: the same numbers, and integers.
    """

    def offer(self, state: State, flags: Booleans) -> Offer:
        """Offer the whole share if flagged, else one half; a cap lowers what is taken, too."""
        whole = self._half(state)
        wanted = np.where(flags, whole, whole // 2)
        offered = self._offer(wanted)
        capped = offered.publication < wanted
        taken = np.where(capped, np.minimum(whole, 2 * offered.publication), whole)
        return Offer(offered.decision, offered.publication, taken)


class BudgetAbsorption(Rule):
    """Let a publication absorb what skipped ticks left, and keep as many ticks after it silent."""

    def _most(self) -> int:
        return 2 * self.window * (self.epsilon // (2 * self.window))

    @property
    def largest(self) -> int:
        """Return what a window of ticks without a publication leaves."""
        return self.window * (self.epsilon // (2 * self.window))

    def start(self, rows: int) -> State:
        """Return also `last`, the tick of the last publication, 0 before the first, and `multiple`:
        of how many ticks it had the budget."""
        ticks = np.zeros(rows, dtype=np.int64)
        return {**super().start(rows), "last": ticks, "multiple": ticks.copy()}

    def offer(self, state: State, flags: Booleans) -> Offer:
        """Offer the budget of this tick and of those since the last silent one; 0 if silent."""
        silent = np.maximum(state["multiple"] - 1, 0)
        since = state["tick"] + 1 - state["last"] - silent
        multiple = np.where(since > 0, np.minimum(since, self.window), 0)
        return self._offer(multiple * (self.epsilon // (2 * self.window)), multiple)

    def settle(self, state: State, offer: Offer, published: Booleans) -> State:
        """Return also the multiple, which silence follows, even where a cap lowered the charge."""
        return {
            **super().settle(state, offer, published),
            "last": np.where(published, state["tick"] + 1, state["last"]),
            "multiple": np.where(published, offer.share, state["multiple"]),
        }


def pushed(last: Integers, newest: Integers) -> Integers:
    """Forget the oldest entry of each row and append the newest."""
    return np.concatenate([last, newest[:, None]], axis=1)[:, 1:].copy()


LARGEST_BINS = 2**17
LARGEST_WINDOW = 100_000
LARGEST_EPSILON = 20.0
LARGEST_VALUE = 2**44


def require_size(name: str, value: int, largest: int) -> None:
    """Raise `ValueError` unless the value is from 1 to `largest`."""
    if not 1 <= value <= largest:
        raise ValueError(f"{name}: must be from 1 to {largest}, not {value}")


def require_length(tick_milliseconds: int | None) -> None:
    """Raise `ValueError` if ticks have a length in time that is below 1 ms."""
    if tick_milliseconds is not None and tick_milliseconds < 1:
        raise ValueError(f"tick_milliseconds: must be at least 1, not {tick_milliseconds}")


def require_epsilon(epsilon: float, name: str = "epsilon") -> None:
    """Raise `ValueError` unless it is above 0 and at most the largest epsilon."""
    if not isfinite(epsilon) or not 0.0 < epsilon <= LARGEST_EPSILON:
        raise ValueError(
            f"{name}: must be above 0 and at most {LARGEST_EPSILON:g} nats, not {epsilon}"
        )


def require_epsilon_and_delta(epsilon: float, delta: float) -> None:
    """Raise `ValueError` unless both can be promised; a delta is above 0 and below 1."""
    require_epsilon(epsilon)
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta: must be above 0 and below 1, not {delta}")


def units_below(epsilon: float, name: str = "epsilon") -> int:
    """Convert a declared number of nats to units, rounded down: nobody is charged more."""
    require_epsilon(epsilon, name)
    return int(Fraction(epsilon) * UNITS_PER_NAT)


def vectors(values: Array, bins: int) -> Integers:
    """Return integers `(rows, bins)`, clamped to 2^44 either way; `ValueError` for other shapes."""
    if values.ndim != 2 or values.shape[1] != bins:
        raise ValueError(f"values must be vectors of {bins} bins, not of shape {values.shape[1:]}")
    return np.clip(counted(values), -LARGEST_VALUE, LARGEST_VALUE)
