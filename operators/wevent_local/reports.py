"""Make unary reports, test whether they have become wrong, and state what they promise."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from fugu.operators.budget_units import in_nats
from fugu.operators.columns import encode_fields
from fugu.operators.guarantee import (
    ARRIVALS,
    BEYOND_A_WINDOW,
    CORRELATION,
    KEYED_HASH,
    RAW_VALUES_SEEN,
    REFUSED,
    SAME_PEOPLE,
    SECRET,
    STREAMS_INDEPENDENT,
    TIMES_OF_RECORDS,
    WHOLE_RECORDS,
    Guarantee,
    Neighbours,
    Point,
)
from fugu.operators.mechanism import Floats, Integers, State, Words
from fugu.operators.responses.randomized_response import WORDS, Odds
from fugu.operators.wevent.allocation import Booleans
from fugu.operators.wevent.pba import Flags, dobrushin, require_share
from fugu.operators.whole_numbers import take_whole_numbers

_MOST_KNOWN = 2**16
"""Bound the budgets whose odds are remembered."""


@dataclass(frozen=True, eq=False)
class UnaryReports:
    """Report a symbol as `symbols` bits, each kept with probability 1 - f, else flipped (SUE).

    Two symbols differ in two bits, so a report with e nats takes f = 1 / (e^(e/2) + 1), and its
    privacy loss is 2 ln((1 - f) / f), which is at most e for the 64-bit words that are drawn.

    >>> reports = UnaryReports(symbols=3)
    >>> round(reports.flip_chance(2**40 // 40), 10)
    0.4968750407

    Source: PBA specification, section 3 (SUE, thesis eq. 6.2).
    """

    symbols: int

    def odds(self, units: int) -> Odds:
        """Return the odds of a bit to be kept in a report of so many units of 2^-40 nat."""
        return self._known_odds(units)

    @cached_property
    def _known_odds(self) -> Callable[[int], Odds]:
        return lru_cache(_MOST_KNOWN)(lambda units: Odds.of(others=1, epsilon=in_nats(units) / 2.0))

    def flip_chance(self, units: int) -> float:
        """Return f, the probability that a bit of the report is not the true one."""
        return self.odds(units).unlikely

    def kept_words(self, units: int) -> int:
        """Return how many words keep a bit of a report: 2^64 is out of reach."""
        kept = self.odds(units).favoured
        assert kept < WORDS
        return kept

    def report(self, symbols: Integers, units: Integers, words: Words) -> Booleans:
        """Return the bits of one report per row, from words `(rows, symbols)`.

        A symbol beyond the last one has no bit that is true.
        """
        distinct, places = np.unique(units, return_inverse=True)
        thresholds = np.array([self.kept_words(int(one)) for one in distinct], dtype=np.uint64)
        kept = words < thresholds[places][:, None]
        truth = symbols[:, None] == np.arange(self.symbols)
        return np.asarray(truth == kept)

    def chances(self, units: int, reports: Booleans, inputs: int) -> Floats:
        """Return P(report given input), `(inputs, reports)`; the last input may be no symbol."""
        odds = self.odds(units)
        right = reports[None] == np.eye(inputs, self.symbols, dtype=bool)[:, None]
        return np.asarray(np.where(right, odds.likely, odds.unlikely).prod(axis=2))


_DIGITS = 60


@dataclass(frozen=True, eq=False)
class Dissimilarity(ABC):
    """Wish for a new report, more often where the one in force does not hold the true symbol.

    Claim. The wish is one bit, and `units` of 2^-40 nat private: given the report, the distance of
    the truth from it takes two values, and neither answer is more than e^units times as likely
    under one as under the other. Words decide, so the claim is exact.
    """

    symbols: int
    units: int

    @abstractmethod
    def wish_words(self, holds: bool, ones: int, offered: int) -> int:
        """Return how many of 2^64 words wish for a new report.

        The report in force `holds` the true symbol or not, and has so many `ones`; the new one
        would be `offered` so many units.
        """

    @property
    def constant_words(self) -> tuple[int, ...]:
        """Return `wish_words` where the report does not hold the symbol, and where it does; nothing
        where they depend on more."""
        return ()

    def wishes(self, holds: Booleans, ones: Integers, offered: Integers, words: Words) -> Booleans:
        """Return which rows wish for a new report."""
        asked, places = np.unique(
            np.stack([holds.astype(np.int64), ones, offered]), axis=1, return_inverse=True
        )
        thresholds = [self.wish_words(bool(h), s, o) for h, s, o in asked.T.tolist()]
        return np.asarray(words < np.array(thresholds, dtype=np.uint64)[places.ravel()])


class ResponseDissimilarity(Dissimilarity):
    """Answer by randomized response whether the report holds the true symbol.

    >>> response = ResponseDissimilarity(symbols=3, units=2**40)
    >>> round(response.wish_words(False, 1, 2**40) / 2**64, 6)
    0.731059

    Source: PBA specification, section 3 ("Why one bit").
    """

    @cached_property
    def _odds(self) -> Odds:
        return Odds.of(others=1, epsilon=in_nats(self.units))

    @property
    def constant_words(self) -> tuple[int, ...]:
        return self._odds.favoured, self._odds.each

    def wish_words(self, holds: bool, ones: int, offered: int) -> int:
        return self.constant_words[holds]


@dataclass(frozen=True, eq=False)
class LaplaceDissimilarity(Dissimilarity):
    """Wish if the distance plus Laplace noise exceeds the error that a new report would have.

    The distance is (1/n) sum |y_j - x_j| for n symbols, and changes by at most 2/n, so the scale is
    2 / (n units); the threshold is the chance f that a bit of the new report is flipped. The noise
    is seen through one comparison only, so what is drawn is one bit with that probability, rounded
    to words towards less loss.

    >>> laplace = LaplaceDissimilarity(symbols=3, units=2**40)
    >>> round(laplace.wish_words(False, 1, 2**40) / 2**64, 6)
    0.675943

    Source: PBA specification, section 3 (alternative `laplace`).
    """

    def wish_words(self, holds: bool, ones: int, offered: int) -> int:
        return self._known_words(holds, ones, offered)

    @cached_property
    def _known_words(self) -> Callable[[bool, int, int], int]:
        return lru_cache(_MOST_KNOWN)(self._words)

    def _words(self, holds: bool, ones: int, offered: int) -> int:
        least = self._wishing(ones - 1, offered, ROUND_CEILING)
        return least if holds else max(least, self._wishing(ones + 1, offered, ROUND_FLOOR))

    def _wishing(self, apart: int, offered: int, rounding: str) -> int:
        """Return the words that wish where so many bits differ."""
        with localcontext() as context:
            context.prec = _DIGITS
            nats = Decimal(in_nats(self.units))
            threshold = 1 / ((Decimal(in_nats(offered)) / 2).exp() + 1)
            steps = (threshold - Decimal(apart) / self.symbols) * self.symbols * nats / 2
            wishes = (-steps).exp() / 2 if steps >= 0 else 1 - steps.exp() / 2
            words = int((wishes * WORDS).to_integral_value(rounding))
        return min(max(words, 1), WORDS - 1)


@dataclass(frozen=True)
class ReportTicks:
    """Say how long a tick is, and whether records of streams move stream time.

    Where they do, they decide which ticks close when, so that their presence can show in what
    becomes of other records. Where heartbeats alone do, a record shows in its own tick only.
    `seconds_refused` says whether a second record of a stream in a tick is refused, which shows.
    """

    milliseconds: int
    moved_by_streams: bool = True
    seconds_refused: bool = False

    def __post_init__(self) -> None:
        if self.milliseconds < 1:
            raise ValueError(f"ticks: must be at least 1 ms long, not {self.milliseconds}")


_RECORDS_INDEPENDENT = Point(
    "records-independent",
    "an adversary with no knowledge of how the records of a stream depend on each other, but any "
    "other prior",
)
_CORRELATED_RECORDS = Point(
    "correlated-records",
    "an adversary who knows how the records of a stream depend on each other: what such an "
    "adversary learns about one record, or about a window, may exceed epsilon",
)
_COUNTED = Point(
    "window-of-records",
    "decisions and reports of any window are charged at most epsilon together; whether a record "
    "has a new report is public, and counted; records are in a row as they are released, so one "
    "that fugu redrive releases later counts there",
)
_PROOF = Point(
    "donors",
    "PBA specification, sections 1, 3 and 4; every transcript of two symbols and up to four "
    "releases is enumerated, for windows of up to three",
)


_TICKS_INDEPENDENT = Point(
    "stream-ticks-independent",
    "an adversary with no knowledge of how the ticks of a stream depend on each other, but any "
    "other prior",
)
_EVERY_TICK = Point(
    "window-of-ticks",
    "decisions and reports of any window are charged at most epsilon together; a stream releases "
    "something at every tick, whether it has a symbol or not, and whether that is new is counted",
)
_BEGINNING = Point(
    "beginning",
    "when a stream begins, and when it goes on after its declared life: that it has a record in "
    "that tick is public, and that it had none in the ticks before",
)
_SECOND_IN_TICK = Point(
    "second-in-tick",
    "that a stream has a record in a tick, if it has several there: each but the first becomes a "
    "dead letter (ticks.several: error; with last or first nothing shows)",
)


def reports_guarantee(epsilon: float, window: int, ticks: ReportTicks | None) -> Guarantee:
    """Return w-event local privacy of `epsilon` nats for any `window` records, or ticks, in a row.

    In ticks it covers absence, too. Whole records may be added or removed if they do not move
    stream time, and none is refused for being the second one of its tick.

    Source: PBA specification, sections 1 and 3.
    """
    independent, counted = _RECORDS_INDEPENDENT, _COUNTED
    neighbours = Neighbours("stream", "symbol", "replaced")
    own: tuple[Point, ...] = (ARRIVALS, _CORRELATED_RECORDS)
    if ticks is not None:
        independent, counted = _TICKS_INDEPENDENT, _EVERY_TICK
        neighbours, own = Neighbours("stream", "symbol", "replaced-or-none"), (_BEGINNING,)
        if ticks.moved_by_streams:
            own = (*own, WHOLE_RECORDS, TIMES_OF_RECORDS)
        else:
            neighbours = replace(neighbours, kept=("timestamp",))
        if ticks.seconds_refused:
            own = (*own, _SECOND_IN_TICK)
        own = (*own, CORRELATION)
    return Guarantee(
        notion="w-event-ldp",
        epsilon=epsilon,
        delta=0.0,
        per="window",
        window=window,
        tick_milliseconds=None if ticks is None else ticks.milliseconds,
        tick_by_tick=True,
        neighbours=neighbours,
        adversary=independent,
        accounting=(counted,),
        trust=RAW_VALUES_SEEN,
        assumptions=(STREAMS_INDEPENDENT, KEYED_HASH),
        not_covered=(*own, BEYOND_A_WINDOW, REFUSED, SAME_PEOPLE, SECRET),
        proof=_PROOF,
        finite_precision_delta=0.0,
    )


# Remember how many words decide and keep bits, for compiled code, which cannot compute them.


MOST_KNOWN = 2**16
"""Bound the numbers of words that are remembered."""


class KnownWords(NamedTuple):
    """Hold numbers of words, sorted by what they belong to.

    `kept` of 2^64 words keep a bit of a report with a budget in `units`. `wishes` are for a new
    report that is `offered` so many units, in the case `2 ones + holds` of the one in force.
    """

    units: Integers
    kept: Words
    offered: Integers
    cases: Integers
    wishes: Words

    @classmethod
    def none(cls) -> "KnownWords":
        """Know nothing."""
        numbers, words = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)
        return cls(numbers, words, numbers, numbers, words)

    def with_kept(self, units: int, words: int) -> "KnownWords":
        """Return the same with the words of a budget."""
        place = np.searchsorted(self.units, units)
        if units in self.units[place : place + 1]:
            return self
        kept = np.insert(self.kept, place, np.uint64(words))
        return self._replace(units=np.insert(self.units, place, units), kept=kept)

    def with_wish(self, offered: int, case: int, words: int) -> "KnownWords":
        """Return the same with the words of a decision."""
        first, end = (np.searchsorted(self.offered, offered, side) for side in ("left", "right"))
        place = first + np.searchsorted(self.cases[first:end], case)
        return self._replace(
            offered=np.insert(self.offered, place, offered),
            cases=np.insert(self.cases, place, case),
            wishes=np.insert(self.wishes, place, np.uint64(words)),
        )


@dataclass(eq=False)
class WordMemo:
    """Compute numbers of words when they are missing, and remember some of them."""

    kept_words: Callable[[int], int]
    wish_words: Callable[[bool, int, int], int]
    known: KnownWords = field(default_factory=KnownWords.none)

    def learn(self, units: int, case: int) -> None:
        """Remember the words of a budget and, unless the case is -1, of a decision with it."""
        known = self.known
        if len(known.units) + len(known.offered) >= MOST_KNOWN:
            known = KnownWords.none()
        known = known.with_kept(units, self.kept_words(units))
        if case >= 0:
            words = self.wish_words(case % 2 == 1, case // 2, units)
            known = known.with_wish(units, case, words)
        self.known = known


# A flag that a public chain gives, by the time since the last report.


@dataclass(frozen=True)
class MarkovSinceReport(Flags):
    """Flag a position while the chain still links it with the last report.

    That is so if the Dobrushin coefficient of the matrix to the power m reaches the threshold, for
    the m positions since the last report, and at most `window` of them. It never grows with m, so
    the chain links positions up to some m, and none beyond. Without a report, nothing is flagged.
    Row i, column j of `matrix` is P(next = j given now = i).

    >>> flags = MarkovSinceReport(((0.9, 0.1), (0.1, 0.9)), window=4)
    >>> flags.now({"since": np.array([0, 1, 2, 3, 4, 9])}).tolist()
    [False, True, True, True, False, False]

    Source: PBA specification, section 2.3.
    """

    matrix: tuple[tuple[float, ...], ...]
    window: int
    threshold: float = 0.5
    links: tuple[bool, ...] = field(init=False)
    """Say whether a report so many positions ago, 0 to `window`, still is linked."""

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        require_share("threshold", self.threshold)
        linked, power = 0, [list(row) for row in self.matrix]
        while linked < self.window and dobrushin(power) >= self.threshold:
            linked += 1
            power = _product(power, self.matrix)
        links = (False, *[True] * linked, *[False] * (self.window - linked))
        object.__setattr__(self, "links", links)

    def now(self, state: State) -> Booleans:
        return np.asarray(np.array(self.links)[np.minimum(state["since"], self.window)])

    def identity(self) -> bytes:
        return encode_fields("markov since the last report", bytes(self.links))


def _product(one: list[list[float]], other: tuple[tuple[float, ...], ...]) -> list[list[float]]:
    """Return the matrix product, each row brought to the sum of 1 again."""
    columns = list(zip(*other, strict=True))
    rows = [
        [sum(a * b for a, b in zip(row, column, strict=True)) for column in columns] for row in one
    ]
    return [[entry / sum(row) for entry in row] for row in rows]
