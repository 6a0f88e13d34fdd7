"""Collectors that publish when it pays: budgets and users are spared for ticks that need them."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from fugu.operators.budget_units import in_nats
from fugu.operators.ldp_ids.collector import Collector, squares
from fugu.operators.ldp_ids.oracles import SMALLEST_REPORT
from fugu.operators.ldp_ids.reporting import (
    EVERYBODY,
    Instruction,
    Reporting,
    SharedBudget,
    SharedPopulation,
    Tally,
)
from fugu.operators.mechanism import Floats, Integers, State
from fugu.operators.wevent.allocation import Booleans, Offer, Rule


@dataclass(frozen=True, eq=False)
class DecidingCollector(Collector):
    """Decide at each tick, by reports for that alone, whether the next one publishes.

    With c the counts that the reports of the first phase estimate, r the figures of this tick, L
    symbols, V1 the variance of c, and V2 that of the publication which a rule offers for the next
    tick:

        publish at the next tick if and only if   sum (c_j - r_j)^2 / L - V1   >   V2

    The left side is an unbiased estimate of the mean squared error that would stay, and may be
    negative; the right side is the one that comes instead. The paper compares and publishes in the
    same tick; here the decision is one tick ahead, since users are asked before they report. So a
    publication comes one tick later, and the first tick publishes nothing.

    State: also the columns of the rule, of which the resource is budget or users, and `amount` and
    `first`, the instruction for the next tick.

    Source: PBA specification, section 4 (LDP-IDS).
    """

    rule_class: ClassVar[type[Rule]]

    @property
    @abstractmethod
    def rule(self) -> Rule:
        """Return how the resource is spread over the ticks of a window."""

    def start(self, rows: int) -> State:
        return {
            **super().start(rows),
            **self.rule.start(rows),
            "amount": np.zeros(rows, dtype=np.int64),
            "first": np.zeros(rows, dtype=np.int64),
        }

    def instruction(self, state: State) -> Instruction | None:
        return Instruction(int(state["amount"][0]), int(state["first"][0]))

    def _next(self, state: State, tally: Tally, reported: Booleans, released: Floats) -> State:
        settled = self.rule.settle(state, self._offer(state), reported)
        amount = self._offer(settled).publication
        decides = tally.reports[:, 0] > 0
        units = np.where(decides, self._units(self.rule.decision), 0)
        counts, spread = self._estimates(tally, 0, units)
        error = squares(counts - released) - self._variance(tally, 0, spread)
        wanted = decides & (amount > 0) & (error > self._expected(tally, amount))
        return {
            **settled,
            "amount": np.where(wanted, amount, 0),
            "first": self._first_after(state, reported),
        }

    def _offer(self, state: State) -> Offer:
        return self.rule.offer(state, np.zeros(len(state["tick"]), dtype=bool))

    @abstractmethod
    def _units(self, amount: int) -> int:
        """Return the units of a report, where so much of the resource is used."""

    @abstractmethod
    def _expected(self, tally: Tally, amount: Integers) -> Floats:
        """Return the variance of a publication that uses so much; infinite where it cannot be."""

    def _first_after(self, state: State, reported: Booleans) -> Integers:
        return state["first"].copy()

    @property
    def first_units(self) -> int:
        return self._units(self._first_offer)

    @property
    def _first_offer(self) -> int:
        return int(self._offer(self.rule.start(1)).publication[0])


@dataclass(frozen=True, eq=False)
class BudgetDivision(DecidingCollector):
    """Let everybody report with parts of the budget: epsilon / 2 for decisions, the rest for
    publications."""

    @cached_property
    def rule(self) -> Rule:
        return self.rule_class(self.window, self.units, SMALLEST_REPORT)

    @property
    def reporting(self) -> Reporting:
        decision = self.rule.decision
        return SharedBudget(self.symbols, self.window, self.units, decision, self.oracle)

    def _published_with(self, state: State) -> Integers:
        return np.asarray(state["amount"])

    def _units(self, amount: int) -> int:
        return amount

    def _expected(self, tally: Tally, amount: Integers) -> Floats:
        expected = np.full(len(amount), np.inf)
        for units in np.unique(amount[amount > 0]).tolist():
            rows = amount == units
            expected[rows] = tally.present[rows] * self.law(units).spread
        return expected

    def _more(self) -> Mapping[str, object]:
        return {
            "charge of a decision in nats": in_nats(self.rule.decision),
            "charge of a window in nats, at most": in_nats(self.rule.most),
        }


@dataclass(frozen=True, eq=False)
class PopulationDivision(DecidingCollector):
    """Let half of the users decide and the other half publish, each once in a window and with all
    of epsilon.

    The rule spreads users instead of budget. A publication is of at least `fewest` users.
    """

    fewest: ClassVar[int] = 3

    @cached_property
    def rule(self) -> Rule:
        return self.rule_class(self.window, EVERYBODY)

    @property
    def reporting(self) -> Reporting:
        decision = self.rule.decision
        return SharedPopulation(self.symbols, self.window, self.units, decision, self.oracle)

    def _published_with(self, state: State) -> Integers:
        return np.where(state["amount"] > 0, self.units, 0)

    def _units(self, amount: int) -> int:
        return self.units

    def _expected(self, tally: Tally, amount: Integers) -> Floats:
        there = tally.present.astype(np.float64)
        reporters = there * amount / EVERYBODY
        enough = reporters >= self.fewest
        spread = self.law(self.units).spread
        return np.where(enough, there * there * spread / np.where(enough, reporters, 1.0), np.inf)

    def _first_after(self, state: State, reported: Booleans) -> Integers:
        pool = EVERYBODY - self.window * self.rule.decision
        return np.where(reported, (state["first"] + state["amount"]) % pool, state["first"])

    @property
    def first_share(self) -> float:
        return self._first_offer / EVERYBODY

    def _more(self) -> Mapping[str, object]:
        return {
            "share of users who decide at a tick": self.rule.decision / EVERYBODY,
            "share of users who report for the first publication": self.first_share,
        }
