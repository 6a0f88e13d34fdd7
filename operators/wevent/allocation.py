"""How the budget of a window is spread over its ticks: integers in, integers out, no noise.

Claim. Whatever is published and skipped, and whatever the flags say, no `window` consecutive ticks
are charged more than `epsilon`. Budgets are integers, in units of 2^-40 nat, and halving rounds
down, so the claim holds in exact arithmetic; `Rule.settle` checks it again at every tick.

A rule first makes an `Offer`: what a look at the data costs (`decision`, always charged), and what
a publication would cost now (0 where none is possible). `settle` then moves the state on, given
what was published. The mechanisms of this package use the same rules, with noise.

>>> nat = 2**40
>>> publish, flags = np.array([[1, 0, 1, 1, 1]]), np.array([[0, 0, 0, 1, 1]])
>>> charged = allocate("pba", window=3, epsilon=nat, wishes=publish, flags=flags)
>>> (charged.publication[0] / nat).tolist()
[0.125, 0.0, 0.0625, 0.1875, 0.09375]

Source: PBA specification, sections 2, 4, 6 (caps) and 8.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fugu.operators.budget_units import add_spent
from fugu.operators.mechanism import Array, Integers, State
from fugu.operators.wevent.cap import Cap

Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Offer:
    """What the current tick may cost each row, in units."""

    decision: Integers
    """Charged in any case."""
    publication: Integers
    """Charged if something is published; 0 where nothing can be."""
    share: Integers
    """What the rule will remember of a publication."""


class Outcome(IntEnum):
    """What became of a tick."""

    PUBLISHED = 0
    SKIPPED = 1
    """It could have been published, and was not wished."""
    IMPOSSIBLE = 2
    """Nothing was offered: nullified, between two samples, or below the resolution."""


@dataclass(frozen=True)
class Rule(ABC):
    """One way to spread `epsilon` units over `window` ticks.

    A publication that could be offered fewer than `smallest` units is not offered.
    """

    window: int
    epsilon: int
    smallest: int = 1
    cap: Cap | None = None

    decides: ClassVar[bool] = True
    """Whether the data decide on a publication, which costs a `decision`."""

    @property
    def decision(self) -> int:
        """What the decision of a tick is charged: half the budget, spread evenly."""
        if not self.decides:
            return 0
        share = self.epsilon // (2 * self.window)
        return share if self.cap is None else min(share, self.cap.decision)

    @property
    def most(self) -> int:
        """No window is charged more."""
        uncapped = self._most()
        if self.cap is None:
            return uncapped
        return min(uncapped, self.window * (self.decision + self.cap.publication))

    @abstractmethod
    def _most(self) -> int:
        """No window is charged more, without a cap."""

    @property
    @abstractmethod
    def largest(self) -> int:
        """No publication is offered more units than this, before a cap."""

    def start(self, rows: int) -> State:
        """No tick has passed: `recent` holds the charges of the last `window - 1`."""
        return {
            "tick": np.zeros(rows, dtype=np.int64),
            "recent": np.zeros((rows, self.window - 1), dtype=np.int64),
            "spent": np.zeros(rows, dtype=np.int64),
        }

    @abstractmethod
    def offer(self, state: State, flags: Booleans) -> Offer:
        """For the next tick; `flags` says for which rows correlation is said to exist."""

    def settle(self, state: State, offer: Offer, published: Booleans) -> State:
        """The columns of the rule after this tick."""
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
        """Capped, and nothing below the resolution."""
        if self.cap is not None:
            publication = np.minimum(publication, self.cap.publication)
        publication = np.where(publication < self.smallest, 0, publication)
        if share is None:
            share = publication
        return Offer(np.full(len(publication), self.decision, dtype=np.int64), publication, share)


class Uniform(Rule):
    """The same at every tick, and no decision."""

    decides = False

    def _most(self) -> int:
        return self.window * (self.epsilon // self.window)

    @property
    def largest(self) -> int:
        """One tick's part."""
        return self.epsilon // self.window

    def offer(self, state: State, flags: Booleans) -> Offer:
        """One tick's part."""
        return self._offer(np.full(len(flags), self.epsilon // self.window, dtype=np.int64))


class Sample(Rule):
    """All of it at ticks 1, window + 1, 2 window + 1, ..."""

    decides = False

    def _most(self) -> int:
        return self.epsilon

    @property
    def largest(self) -> int:
        """All of it."""
        return self.epsilon

    def offer(self, state: State, flags: Booleans) -> Offer:
        """All or nothing."""
        return self._offer(np.where(state["tick"] % self.window == 0, self.epsilon, 0))


class BudgetDistribution(Rule):
    """A publication may cost half of what publications of the window have left of their half."""

    def _most(self) -> int:
        pool = self.epsilon // 2
        for _ in range(self.window):
            pool -= pool // 2
        return self.window * self.decision + self.epsilon // 2 - pool

    @property
    def largest(self) -> int:
        """Half of the half, where nothing else was published."""
        return self.epsilon // 2 // 2

    def start(self, rows: int) -> State:
        """`shares` holds what publications took from their half, tick by tick."""
        return {**super().start(rows), "shares": np.zeros((rows, self.window - 1), dtype=np.int64)}

    def offer(self, state: State, flags: Booleans) -> Offer:
        """Half of the rest."""
        return self._offer(self._half(state))

    def settle(self, state: State, offer: Offer, published: Booleans) -> State:
        """A tick without a publication takes nothing."""
        taken = np.where(published, offer.share, 0)
        return {
            **super().settle(state, offer, published),
            "shares": pushed(state["shares"], taken),
        }

    def _half(self, state: State) -> Integers:
        half: Integers = (self.epsilon // 2 - state["shares"].sum(axis=1)) // 2
        return half


class PrivacyBudgetAllocation(BudgetDistribution):
    """Budget distribution that spends only one half of each share, unless it is flagged.

    In the words of the specification, s is half of what is computed here, a flagged publication
    absorbs as much again, and the pool is epsilon / 4: the same numbers, and integers.
    """

    def offer(self, state: State, flags: Booleans) -> Offer:
        """The whole share if flagged, else one half; a cap lowers what is taken, too."""
        whole = self._half(state)
        wanted = np.where(flags, whole, whole // 2)
        offered = self._offer(wanted)
        capped = offered.publication < wanted
        taken = np.where(capped, np.minimum(whole, 2 * offered.publication), whole)
        return Offer(offered.decision, offered.publication, taken)


class BudgetAbsorption(Rule):
    """A publication absorbs what skipped ticks did not spend; as many ticks after it are silent."""

    def _most(self) -> int:
        return 2 * self.window * (self.epsilon // (2 * self.window))

    @property
    def largest(self) -> int:
        """What a window of ticks without a publication leaves."""
        return self.window * (self.epsilon // (2 * self.window))

    def start(self, rows: int) -> State:
        """`last`: the tick of the last publication, 0 before the first; `multiple`: of how many
        ticks it had the budget."""
        ticks = np.zeros(rows, dtype=np.int64)
        return {**super().start(rows), "last": ticks, "multiple": ticks.copy()}

    def offer(self, state: State, flags: Booleans) -> Offer:
        """The budget of this tick and of those since the last silent one; nothing if silent."""
        silent = np.maximum(state["multiple"] - 1, 0)
        since = state["tick"] + 1 - state["last"] - silent
        multiple = np.where(since > 0, np.minimum(since, self.window), 0)
        return self._offer(multiple * (self.epsilon // (2 * self.window)), multiple)

    def settle(self, state: State, offer: Offer, published: Booleans) -> State:
        """Silence follows the multiple, also where a cap lowered the charge."""
        return {
            **super().settle(state, offer, published),
            "last": np.where(published, state["tick"] + 1, state["last"]),
            "multiple": np.where(published, offer.share, state["multiple"]),
        }


RULES: Mapping[str, type[Rule]] = {
    "uniform": Uniform,
    "sample": Sample,
    "budget_distribution": BudgetDistribution,
    "budget_absorption": BudgetAbsorption,
    "pba": PrivacyBudgetAllocation,
}


@dataclass(frozen=True)
class Allocated:
    """What every tick is charged, `(rows, ticks)`, in units, and what became of it."""

    decision: Integers
    publication: Integers
    outcome: Integers


def allocate(
    method: str,
    *,
    window: int,
    epsilon: int,
    wishes: Array,
    flags: Array | None = None,
    cap: Cap | None = None,
) -> Allocated:
    """Follow `wishes` to publish and `flags`, both `(rows, ticks)`, with `epsilon` units."""
    rule = RULES[method](window, epsilon, cap=cap)
    wished = np.asarray(wishes, dtype=bool) | (not rule.decides)
    flagged = np.zeros_like(wished) if flags is None else np.asarray(flags, dtype=bool)
    state, ticks = rule.start(len(wished)), []
    for tick in range(wished.shape[1]):
        offer = rule.offer(state, flagged[:, tick])
        possible = offer.publication > 0
        published = wished[:, tick] & possible
        state = rule.settle(state, offer, published)
        outcome = np.where(possible, Outcome.SKIPPED, Outcome.IMPOSSIBLE)
        outcome = np.where(published, Outcome.PUBLISHED, outcome)
        ticks.append((offer.decision, np.where(published, offer.publication, 0), outcome))
    return Allocated(*(np.stack(column, axis=1) for column in zip(*ticks, strict=True)))


def window_spend(state: State, charge: Integers) -> Integers:
    """What a window is charged that ends with a tick of this charge; `state` is that before it."""
    spend: Integers = state["recent"].sum(axis=1) + charge
    return spend


def pushed(last: Integers, newest: Integers) -> Integers:
    """Forget the oldest entry of each row and append the newest."""
    return np.concatenate([last, newest[:, None]], axis=1)[:, 1:].copy()
