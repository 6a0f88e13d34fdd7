"""The step of strategies that keep a ledger for each open relevance interval."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from fugu.operators.mechanism import Integers, State
from fugu.operators.swellfish.ledger import Ledger, decoded, encoded, opened
from fugu.operators.swellfish.relevance import Relevance
from fugu.operators.swellfish.strategy import PolicyStrategy, objects
from fugu.operators.wevent.allocation import Offer

Ledgers = Sequence[Ledger]


@dataclass(frozen=True)
class Books:
    """Hold the distinct pairs of a tick and its open ledgers, and which one each row has."""

    distinct: Sequence[tuple[int, Ledgers]]
    of_row: Integers


@dataclass(frozen=True, eq=False)
class IntervalStrategy(PolicyStrategy[Books]):
    """Charge publications to the ledgers of all open relevance intervals.

    Rows with the same ledgers at the same tick are looked at once. State: also `ledgers`, encoded.
    Source: Swellfish specification, sections 5 and 5.2.
    """

    @property
    def cap(self) -> int:
        """Return what the publications of an interval may cost, in units."""
        return self.units

    def start(self, rows: int) -> State:
        return {**super().start(rows), "ledgers": np.full(rows, b"", dtype=object)}

    @abstractmethod
    def _publication(self, tick: int, ledgers: Ledgers) -> int:
        """Return what a publication may cost, in units, given all open ledgers, of which there are
        some; 0: nothing can be published."""

    def _decision(self, ledgers: Ledgers) -> int:
        """Return what a decision costs, in units."""
        return 0

    def _open(self, state: State, relevances: list[Relevance]) -> Books:
        rows = zip(state["tick"].tolist(), relevances, state["ledgers"].tolist(), strict=True)
        known: dict[tuple[int, Relevance, bytes], int] = {}
        of_row = [known.setdefault(row, len(known)) for row in rows]
        distinct = [
            (tick, opened(decoded(content), relevance.intervals, tick))
            for tick, relevance, content in known
        ]
        return Books(distinct, np.array(of_row, dtype=np.int64))

    def _offer(self, state: State, opened: Books) -> Offer:
        offers = [
            (self._decision(ledgers), self._publication(tick, ledgers)) if ledgers else (0, 0)
            for tick, ledgers in opened.distinct
        ]
        decision, publication = np.array(offers, dtype=np.int64).reshape(-1, 2).T
        charge = publication[opened.of_row]
        return Offer(decision[opened.of_row], charge, charge)

    def _settle(self, state: State, opened: Books, charged: Offer) -> State:
        @cache
        def after(number: int, charge: int) -> bytes:
            ledgers = opened.distinct[number][1]
            if charge:
                ledgers = [ledger.spend(charge, self.cap) for ledger in ledgers]
            return encoded(ledgers)

        rows = zip(opened.of_row.tolist(), charged.publication.tolist(), strict=True)
        return {"ledgers": objects([after(number, charge) for number, charge in rows])}
