"""The step of strategies that keep a ledger for each open relevance interval."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from fugu.operators.columns import objects
from fugu.operators.mechanism import Integers, State
from fugu.operators.swellfish.ledger import Ledgers
from fugu.operators.swellfish.relevance import Relevance
from fugu.operators.swellfish.strategy import PolicyStrategy
from fugu.operators.wevent.allocation import Offer


@dataclass(frozen=True)
class Books:
    """Hold the distinct pairs of a tick and its open ledgers, and which one each row has."""

    ticks: Integers
    ledgers: Ledgers
    of_row: Integers


@dataclass(frozen=True, eq=False)
class IntervalStrategy(PolicyStrategy[Books]):
    """Charge publications to the ledgers of all open relevance intervals.

    A tick may cost the least that any of them allows. Rows with the same ledgers at the same tick
    are looked at once. State: also `ledgers`, encoded.
    Source: Swellfish specification, sections 5 and 5.2.
    """

    @property
    def cap(self) -> int:
        """Return what the publications of an interval may cost, in units."""
        return self.units

    def start(self, rows: int) -> State:
        return {**super().start(rows), "ledgers": np.full(rows, b"", dtype=object)}

    @abstractmethod
    def _publication(self, books: Books) -> Integers:
        """Return what every ledger allows a publication to cost, in units; 0: none."""

    def _decision(self, books: Books) -> Integers:
        """Return what every ledger allows a decision to cost, in units."""
        return np.zeros_like(books.ledgers.start)

    def _open(self, state: State, relevances: list[Relevance]) -> Books:
        rows = zip(state["tick"].tolist(), map(id, relevances), state["ledgers"], strict=True)
        known: dict[tuple[int, int, bytes], int] = {}
        of_row = [known.setdefault(row, len(known)) for row in rows]
        spans = {id(relevance): relevance.spans for relevance in relevances}
        ticks = np.array([tick for tick, _, _ in known], dtype=np.int64)
        ledgers = Ledgers.decoded([content for _, _, content in known])
        opened = ledgers.opened(ticks, [spans[relevance] for _, relevance, _ in known])
        return Books(ticks, opened, np.array(of_row, dtype=np.int64))

    def _offer(self, state: State, opened: Books) -> Offer:
        decision = opened.ledgers.least(self._decision(opened))
        publication = opened.ledgers.least(self._publication(opened))
        charge = publication[opened.of_row]
        return Offer(decision[opened.of_row], charge, charge)

    def _settle(self, state: State, opened: Books, charged: Offer) -> State:
        rows = np.stack([opened.of_row, charged.publication])
        (books, charges), of_row = np.unique(rows, axis=1, return_inverse=True)
        contents = opened.ledgers.of_books(books).spend(charges, self.cap).encoded()
        return {"ledgers": objects([contents[number] for number in of_row.ravel().tolist()])}
