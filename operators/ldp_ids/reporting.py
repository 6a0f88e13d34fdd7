"""Report the symbols of users as a collector asks, and define the two messages between them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from fugu.operators.ldp_ids.oracles import SMALLEST_REPORT, OracleName, oracle
from fugu.operators.mechanism import Draws, Integers, Mechanism, State
from fugu.operators.randomness import draws_of
from fugu.operators.wevent.allocation import Booleans


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


PHASES = ("decision", "publication")
EVERYBODY = 2**32
"""Counts shares of users: a share is so many units of it."""
_NEVER = -(2**62)
_NO_PLACE = -1

Spent = Mapping[int, int]
"""Units that publications were charged, by tick: of every user at most."""


@dataclass(frozen=True)
class Asked:
    """Say which rows report in one phase, and with how many units."""

    rows: Booleans
    units: int


@dataclass(frozen=True, eq=False)
class Reporting(ABC):
    """Report the symbols of users who are there at a tick, once or twice.

    It trusts nobody. An instruction that asks for more than the budget of a window leaves is
    followed as far as that goes, so no sequence of instructions, of whomever, costs a user more
    than epsilon.

    Claim. Whatever is instructed, the reports of a user at any `window` consecutive ticks are
    charged at most `epsilon` units of 2^-40 nat together. Ticks rise, and each is asked for once.

    `decision` is what the first phase takes of the resource at every tick, 0 if nothing is decided;
    then the number of a tick says what is `fixed` for it, and no instruction is awaited.
    """

    symbols: int
    window: int
    epsilon: int
    decision: int
    oracle: OracleName
    fixed: Callable[[int], Instruction] | None = None

    @abstractmethod
    def start(self, rows: int) -> State:
        """Return what is remembered of each user."""

    @abstractmethod
    def asked(
        self, state: State, rows: int, spent: Spent, tick: int, instruction: Instruction
    ) -> tuple[Asked, Asked]:
        """Return who of so many rows reports in both phases, as far as their budgets go."""

    @abstractmethod
    def after(
        self, state: State, spent: Spent, tick: int, asked: tuple[Asked, Asked]
    ) -> tuple[State, Spent]:
        """Return what is remembered of users who are there and of their budgets after a tick."""

    def in_use(self, state: State, tick: int) -> Booleans | bool:
        """Return which rows may not be forgotten before this tick: their budget still counts."""
        return False

    def placed(self, state: State, draws: Draws) -> State:
        """Return rows that know their place among users, where that decides who reports."""
        return state

    def refused(self, spent: Spent, tick: int, instruction: Instruction) -> bool:
        """Return whether nobody can follow this instruction: the budget does not allow it."""
        return False

    def report(
        self,
        state: State,
        spent: Spent,
        symbols: Integers,
        tick: int,
        instruction: Instruction,
        draws: Draws,
    ) -> tuple[State, Spent, Integers]:
        """Return what is remembered, and the tally `(3 + 2 symbols,)` of all who are there."""
        asked = self.asked(state, len(symbols), spent, tick, instruction)
        reports = np.zeros((1, 2), dtype=np.int64)
        supports = np.zeros((1, 2, self.symbols), dtype=np.int64)
        for phase, one in enumerate(asked):
            rows = np.flatnonzero(one.rows)
            if len(rows):
                own = draws_of(draws, rows, len(symbols))
                law = oracle(self.oracle, self.symbols, one.units)
                reports[0, phase] = len(rows)
                supports[0, phase] = law.report(symbols[rows], own, PHASES[phase])
        tally = Tally(np.array([len(symbols)]), reports, supports)
        return *self.after(state, spent, tick, asked), tally.vectors[0]


@dataclass(frozen=True, eq=False)
class SharedBudget(Reporting):
    """Let everybody report, with a part of the budget (budget division).

    Publications are remembered for all users together, as if everybody had been there: the budget
    of a user is never more used than that.

    Source: PBA specification, section 4 (LBU, LSP, LBD, LBA); Ren et al. 2022.
    """

    def start(self, rows: int) -> State:
        return {}

    def asked(
        self, state: State, rows: int, spent: Spent, tick: int, instruction: Instruction
    ) -> tuple[Asked, Asked]:
        amount = 0 if self.refused(spent, tick, instruction) else instruction.amount
        decides, publishes = (np.full(rows, units > 0) for units in (self.decision, amount))
        return Asked(decides, self.decision), Asked(publishes, amount)

    def refused(self, spent: Spent, tick: int, instruction: Instruction) -> bool:
        left = self.epsilon - self.window * self.decision - sum(self._recent(spent, tick).values())
        return instruction.amount > left or 0 < instruction.amount < SMALLEST_REPORT

    def after(
        self, state: State, spent: Spent, tick: int, asked: tuple[Asked, Asked]
    ) -> tuple[State, Spent]:
        _, publication = asked
        charged = {tick: publication.units} if publication.rows.any() else {}
        return state, {**self._recent(spent, tick), **charged}

    def _recent(self, spent: Spent, tick: int) -> dict[int, int]:
        """Return the charges that a window with this tick may hold, later ones included."""
        return {when: units for when, units in spent.items() if when > tick - self.window}


@dataclass(frozen=True, eq=False)
class SharedPopulation(Reporting):
    """Let some users report, each with the whole budget and once in a window (population division).

    A user has a place from 0 to 2^32 - 1, drawn once from the key. The first places decide: those
    of group (tick mod window) at every tick. All other ones are for publications, whose
    instructions go round them.

    Source: PBA specification, section 4 (LPU, LPD, LPA); Ren et al. 2022.
    """

    def start(self, rows: int) -> State:
        """Return nobody's place, and that nobody has reported."""
        return {
            "place": np.full(rows, _NO_PLACE, dtype=np.int64),
            "reported": np.full(rows, _NEVER, dtype=np.int64),
        }

    def placed(self, state: State, draws: Draws) -> State:
        """Draw the places of those who have none."""
        new = np.flatnonzero(state["place"] == _NO_PLACE)
        if not len(new):
            return state
        words = draws_of(draws, new, len(state["place"])).words("place", [b""] * len(new))
        place = state["place"].copy()
        place[new] = (words[:, 0, 0] >> np.uint64(32)).astype(np.int64)
        return {**state, "place": place}

    def asked(
        self, state: State, rows: int, spent: Spent, tick: int, instruction: Instruction
    ) -> tuple[Asked, Asked]:
        place, deciding = state["place"], self.window * self.decision
        rested = tick - state["reported"] >= self.window
        group = tick % self.window * self.decision
        decides = (place >= group) & (place < group + self.decision)
        beyond = (place - deciding - instruction.first) % (EVERYBODY - deciding)
        publishes = (place >= deciding) & (beyond < instruction.amount)
        return Asked(rested & decides, self.epsilon), Asked(rested & publishes, self.epsilon)

    def after(
        self, state: State, spent: Spent, tick: int, asked: tuple[Asked, Asked]
    ) -> tuple[State, Spent]:
        reports = asked[0].rows | asked[1].rows
        return {**state, "reported": np.where(reports, tick, state["reported"])}, spent

    def in_use(self, state: State, tick: int) -> Booleans | bool:
        return np.asarray(tick - state["reported"] < self.window)


@runtime_checkable
class CollectingMechanism(Mechanism, Protocol):
    """Release what reports of users say, which are private before they come here.

    Its inputs are tallies of so many `numbers`, made by its `reporting` beside the users.
    """

    @property
    def numbers(self) -> int:
        """Return how many numbers a tally has."""

    @property
    def reporting(self) -> Reporting:
        """Return the half of it that runs beside the users."""

    def instruction(self, state: State) -> Instruction | None:
        """Return what users are asked at the next position, where all rows are alike; None: that
        never depends on what was released."""
