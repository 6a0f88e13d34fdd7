"""Release figures by strategies that keep a ledger for each open relevance interval."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

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


@dataclass(frozen=True, eq=False)
class UnicornIS(IntervalStrategy):
    """Sample a tick if none of the open relevance intervals has been sampled; else repeat.

    Claim. Swellfish privacy, as for `PolicyStrategy`: each interval is charged once. A sample has
    noise of scale sensitivity / epsilon. What is published is repeated until the next one: the
    error grows with how far the figures move, and has little to do with how large they are.

    Parameters: those of `PolicyStrategy`, as are input, release and errors.

    >>> from fugu.operators.swellfish.household import HOUSEHOLD
    >>> from fugu.operators.swellfish.relevance import Status
    >>> from fugu.operators.single_stream import released
    >>> once = UnicornIS(HOUSEHOLD, bins=1, epsilon=2.0)
    >>> for tick in released(once, [[500]] * 5):
    ...     status = Status(tick.annotations["status"][0])
    ...     print(tick.values[0, 0], tick.annotations["sensitivity"][0], status.name)
    0 0 NOTHING
    494 100 SAMPLED
    494 320 REPEATED
    437 220 SAMPLED
    437 220 REPEATED

    Source: Swellfish specification, section 5.1, which corrects the paper: it compares the open
    intervals with those of the first sample for ever, and not with those of the last one, so that
    every tick is sampled with epsilon once the first ones have ended.
    """

    kind: ClassVar[str] = "unicorn_is"
    claim: ClassVar[str] = "an interval holds one sample at most, which spends epsilon"
    proof: ClassVar[str] = "Swellfish specification, sections 1.3 (composition) and 5.1"

    def _publication(self, books: Books) -> Integers:
        return np.where(books.ledgers.runs > 0, 0, self.cap)


@dataclass(frozen=True, eq=False)
class UnicornPS(IntervalStrategy):
    """Sample every tick with the least that any open relevance interval proposes.

    Claim. Swellfish privacy, as for `PolicyStrategy`. Neighbours differ at no more than delta(J)
    ticks of an interval J, so that only so many of its charges count, the largest ones, and these
    add up to epsilon at most. Each open interval proposes an even share of epsilon, or of what is
    left if that is more.

    Parameters: those of `PolicyStrategy`, as are input, release and errors.

    >>> from fugu.operators.swellfish.household import HOUSEHOLD
    >>> from fugu.operators.single_stream import released
    >>> always = UnicornPS(HOUSEHOLD, bins=1, epsilon=1.0, irrelevant="exact")
    >>> for tick in released(always, [[500]] * 4):
    ...     print(tick.values[0, 0], tick.annotations["publication_epsilon"][0].round(3))
    500 0.0
    1197 0.5
    872 0.333
    818 0.333

    Source: Swellfish specification, section 5.2: Algorithm 3, corrected, which gives back the
    smallest of the largest charges where the paper prints that it takes it. What a person's own
    collection of policies would allow beyond the worst one (section 5.4) is not used: ledgers are
    of intervals, not of people.
    """

    kind: ClassVar[str] = "unicorn_ps"
    claim: ClassVar[str] = "the charges of an interval that can matter add up to epsilon at most"
    proof: ClassVar[str] = "Swellfish specification, sections 1.3 (composition) and 5.2 (cap)"

    def _publication(self, books: Books) -> Integers:
        return books.ledgers.proposals(books.ticks, self.cap)


@dataclass(frozen=True, eq=False)
class Unicorn(UnicornPS):
    """Sample a tick where a noisy dissimilarity test says that it pays; half of epsilon each.

    Claim. Swellfish privacy, as for `PolicyStrategy`. A decision costs epsilon / 2 divided by the
    largest delta(J) of the open intervals, whether or not a sample follows, so that those that can
    matter cost epsilon / 2; samples cost as those of `UnicornPS` do, with epsilon / 2. The test is
    that of `operators.wevent.strategy`. Before the first release there is nothing to compare with:
    it is sampled without a decision.

    Parameters: those of `PolicyStrategy`, as are input, release and errors.

    >>> from fugu.operators.swellfish.household import HOUSEHOLD
    >>> from fugu.operators.swellfish.relevance import Status
    >>> from fugu.operators.single_stream import released
    >>> unicorn = Unicorn(HOUSEHOLD, bins=1, epsilon=20.0)
    >>> ticks = released(unicorn, [[500]] * 4 + [[40_500]] * 2)
    >>> [Status(tick.annotations["status"][0]).name for tick in ticks]
    ['NOTHING', 'SAMPLED', 'REPEATED', 'REPEATED', 'SAMPLED', 'SAMPLED']

    Source: Swellfish specification, section 5.3, which corrects the paper: Algorithm 4 passes all
    of epsilon on to Algorithm 3, and not the half that decisions leave.
    """

    kind: ClassVar[str] = "unicorn"
    claim: ClassVar[str] = (
        "the decisions of an interval that can matter add up to half of epsilon at most, and so do "
        "its samples"
    )
    proof: ClassVar[str] = "Swellfish specification, sections 1.3 (composition), 5.2 and 5.3"

    @property
    def cap(self) -> int:
        """Return one half of epsilon; the other one is for decisions."""
        return self.units // 2

    @property
    def decides(self) -> bool:
        return True

    @property
    def _parts(self) -> int:
        return 2

    def _decision(self, books: Books) -> Integers:
        return books.ledgers.share(self.cap)


@dataclass(frozen=True, eq=False)
class TINARUniform(IntervalStrategy):
    """Sample every tick with an even share, and with noise for a whole contribution.

    Claim. Swellfish privacy, as for `PolicyStrategy`. A baseline that knows when policies are
    relevant, and not how much they hide: a tick costs epsilon divided by the largest delta(J) of
    the open intervals. A tick is irrelevant if no interval is open.

    Parameters: those of `PolicyStrategy`, as are input, release and errors; the annotation
    `sensitivity` is the one that noise is drawn for.

    >>> from fugu.operators.swellfish.household import HOUSEHOLD
    >>> from fugu.operators.single_stream import released
    >>> ticks = released(TINARUniform(HOUSEHOLD, bins=1, epsilon=1.0), [[500]] * 8)
    >>> [float(tick.annotations["publication_epsilon"][0].round(3)) for tick in ticks]
    [0.0, 0.5, 0.333, 0.333, 0.333, 0.333, 0.0, 1.0]

    Source: Swellfish specification, section 6.
    """

    kind: ClassVar[str] = "tinar_uniform"
    adapts: ClassVar[bool] = False
    claim: ClassVar[str] = "the ticks of an interval that can matter share epsilon evenly"
    proof: ClassVar[str] = "Swellfish specification, sections 1.3 (composition) and 6"

    def _publication(self, books: Books) -> Integers:
        return books.ledgers.share(self.cap)


@dataclass(frozen=True, eq=False)
class TINARSample(UnicornIS):
    """Sample each relevance interval once, and with noise for a whole contribution.

    Claim. As for `UnicornIS`, whose noise is here for the sensitivity of a whole contribution. A
    tick is irrelevant if no interval is open.

    Parameters: those of `TINARUniform`. Source: Swellfish specification, sections 5.1 and 6.
    """

    kind: ClassVar[str] = "tinar_sample"
    adapts: ClassVar[bool] = False
