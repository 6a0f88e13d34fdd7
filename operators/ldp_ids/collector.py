"""Estimate counts from tallies of private reports, and ask users for the next ones."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, get_args

import numpy as np

from fugu.operators.budget_units import in_nats
from fugu.operators.columns import digest_of
from fugu.operators.guarantee import (
    ARRIVALS,
    BEYOND_A_WINDOW,
    KEYED_HASH,
    REFUSED,
    SAME_PEOPLE,
    SECRET,
    STREAMS_INDEPENDENT,
    TIMES_OF_RECORDS,
    Guarantee,
    Neighbours,
    Point,
)
from fugu.operators.ldp_ids.oracles import (
    LARGEST_ALPHABET,
    SMALLEST_REPORT,
    Frequencies,
    OracleName,
    oracle,
)
from fugu.operators.ldp_ids.reporting import Instruction, Reporting, Tally, length
from fugu.operators.mechanism import Draws, Floats, Inputs, Integers, Kind, Releases, State
from fugu.operators.wevent.allocation import Booleans, require_length, units_below
from fugu.operators.whole_numbers import take_whole_numbers

_TICKS_INDEPENDENT = Point(
    "ticks-of-a-user-independent",
    "an adversary with no knowledge of how the ticks of a user depend on each other, but any other "
    "prior; it may be the collector itself, who reads the internal log and may write any "
    "instruction into it",
)
_CORRELATED_TICKS = Point(
    "correlated-ticks",
    "an adversary who knows how the ticks of a user depend on each other: what such an adversary "
    "learns about one tick, or about a window, may exceed epsilon",
)
_REPORTS_SEEN = Point(
    "reports-seen",
    "the part of the pipeline that reads the source, and its state, see true symbols; the internal "
    "log, the collector and all readers see reports and sums of reports only",
)
_PRESENCE = Point(
    "presence-of-users",
    "who has a record in a tick, and how many: whoever has none reports nothing, and the number of "
    "users who are there is published",
)
_PROOF = Point(
    "users-keep-their-budget",
    "PBA specification, section 4 (LDP-IDS), decided one tick ahead; every transcript of small "
    "domains is enumerated, and every sequence of instructions, made by the collector or not",
)


def collected_guarantee(
    epsilon: float, window: int, tick_milliseconds: int | None, accounting: Point
) -> Guarantee:
    """Return w-event local privacy of `epsilon` nats for any `window` ticks in a row.

    Source: PBA specification, sections 1 and 4.
    """
    return Guarantee(
        notion="w-event-ldp",
        epsilon=epsilon,
        delta=0.0,
        per="window",
        window=window,
        tick_milliseconds=tick_milliseconds,
        tick_by_tick=True,
        neighbours=Neighbours("person", "symbol", "replaced"),
        adversary=_TICKS_INDEPENDENT,
        accounting=(accounting,),
        trust=_REPORTS_SEEN,
        assumptions=(STREAMS_INDEPENDENT, KEYED_HASH),
        not_covered=(
            _PRESENCE,
            ARRIVALS,
            _CORRELATED_TICKS,
            BEYOND_A_WINDOW,
            REFUSED,
            TIMES_OF_RECORDS,
            SAME_PEOPLE,
            SECRET,
        ),
        proof=_PROOF,
        finite_precision_delta=0.0,
    )


LARGEST_WINDOW = 10_000


@dataclass(frozen=True, eq=False)
class Collector(ABC):
    """Estimate how many users have each of `symbols`, from reports that are private by themselves.

    Claim. Two streams of one user that differ in the symbols of any `window` consecutive ticks
    alone cause no reports that are more than e^epsilon times as likely under one as under the
    other: w-event local differential privacy, against whoever reads reports, sums of them, or
    figures. Presence is not protected: who has a record in a tick may report, and how many have one
    is public. The argument: `reporting` keeps every user within the budget of a window, whatever
    it is told, and everything here is computed from reports.

    A tick has n users who are there; m of them report in a phase, with the same budget. Estimates
    are scaled by n / m, so they count the users who are there. Their variance is V = (n^2 / m) v,
    with v that of the oracle (`Frequencies.spread`).

    Parameters: `symbols`, n >= 2; `window` in ticks, 1 to 10,000; `epsilon` in nats for a window,
    above 0 and at most 20; `oracle`: `sue`, `grr` or `oue`; `tick_milliseconds`, for the guarantee
    alone.
    Input: tallies `(rows, 3 + 2 symbols)` of integers (`Tally`). Release: counts `(rows, symbols)`,
    unbiased where FRESH, and the last ones where REPEATED; before the first they are n / symbols.
    Annotated with `published`, `users`, `reports`, how many the figures were estimated from,
    `epsilon` of each of those, and `standard_error`, the root of the mean over symbols of the
    variance at the tick that they are of, NaN before the first.
    Raises `ValueError` for a parameter out of bounds and, in `step`, for tallies of another shape.
    """

    symbols: int
    window: int
    epsilon: float
    oracle: OracleName = "sue"
    tick_milliseconds: int | None = field(default=None, kw_only=True)

    kind: ClassVar[str]
    implementation: ClassVar[int] = 1
    claim: ClassVar[str]
    """Say how a window keeps to its budget."""
    fewest: ClassVar[int] = 1
    """Publish nothing that fewer users report."""

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        if not 2 <= self.symbols <= LARGEST_ALPHABET:
            raise ValueError(f"symbols: must be 2 to {LARGEST_ALPHABET}, not {self.symbols}")
        if not 1 <= self.window <= LARGEST_WINDOW:
            raise ValueError(f"window: must be 1 to {LARGEST_WINDOW} ticks, not {self.window}")
        if self.oracle not in get_args(OracleName):
            raise ValueError(f"oracle: must be one of {', '.join(get_args(OracleName))}")
        require_length(self.tick_milliseconds)
        if self.units < 2 * SMALLEST_REPORT * self.window:
            raise ValueError(
                f"epsilon: {self.epsilon:g} nats is too little for a window of {self.window} ticks"
            )

    @cached_property
    def units(self) -> int:
        """Return epsilon in units of 2^-40 nat, rounded down."""
        return units_below(self.epsilon)

    @property
    @abstractmethod
    def reporting(self) -> Reporting:
        """Return the half that runs beside the users."""

    @property
    def numbers(self) -> int:
        """Return how many numbers a tick of tallies has."""
        return length(self.symbols)

    def start(self, rows: int) -> State:
        return {
            "released": np.zeros((rows, self.symbols)),
            "reports": np.zeros(rows, dtype=np.int64),
            "error": np.full(rows, np.nan),
            "budget": np.zeros(rows, dtype=np.int64),
        }

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        """Release one tick; no word is drawn, because reports are private by themselves."""
        tally = Tally.of(inputs.values, self.symbols)
        budgets = self._published_with(state)
        reported = (tally.reports[:, 1] > 0) & (budgets > 0)
        published = reported & (tally.reports[:, 1] >= self.fewest)
        fresh, spread = self._estimates(tally, 1, np.where(published, budgets, 0))
        guess = np.where(state["budget"] > 0, 0, tally.present) / self.symbols
        before = np.where((state["budget"] > 0)[:, None], state["released"], guess[:, None])
        released = np.where(published[:, None], fresh, before)
        error = np.sqrt(self._variance(tally, 1, spread) + self._sampling(tally))
        after: State = {
            "released": released,
            "reports": np.where(published, tally.reports[:, 1], state["reports"]),
            "error": np.where(published, error, state["error"]),
            "budget": np.where(published, budgets, state["budget"]),
        }
        notes = {
            "published": published,
            "users": tally.present.copy(),
            "reports": after["reports"].copy(),
            "epsilon": after["budget"] / 2.0**40,
            "standard_error": after["error"].copy(),
        }
        after = {**after, **self._next(state, tally, reported, released)}
        kinds = np.where(published, Kind.FRESH, Kind.REPEATED).astype(np.int64)
        return after, Releases(released.copy(), notes, kinds)

    @abstractmethod
    def _published_with(self, state: State) -> Integers:
        """Return the units of the reports of this tick that are published, 0 where none are."""

    def _next(self, state: State, tally: Tally, reported: Booleans, released: Floats) -> State:
        """Return columns that decide what is asked at the next tick."""
        return {}

    def instruction(self, state: State) -> Instruction | None:
        """Return what is asked at the next tick, where all rows are alike; None: nothing is ever
        asked, because it is fixed."""
        return None

    def _estimates(self, tally: Tally, phase: int, budgets: Integers) -> tuple[Floats, Floats]:
        """Return counts of all who are there, and the oracle's v; zeros where no budget is."""
        counts, spread = np.zeros(tally.supports[:, phase].shape), np.zeros(len(budgets))
        for units in np.unique(budgets[budgets > 0]).tolist():
            rows, law = np.flatnonzero(budgets == units), self.law(units)
            there, reports = tally.present[rows], tally.reports[rows, phase]
            supports = tally.supports[rows, phase]
            excess = supports - (reports * law.q)[:, None]
            counts[rows] = excess / (law.p - law.q) * (there / np.maximum(reports, 1))[:, None]
            spread[rows] = law.spread
        return counts, spread

    def law(self, units: int) -> Frequencies:
        """Return how reports with so many units are made."""
        return oracle(self.oracle, self.symbols, units)

    @staticmethod
    def _variance(tally: Tally, phase: int, spread: Floats) -> Floats:
        there = tally.present.astype(np.float64)
        return np.asarray(there * there * spread / np.maximum(tally.reports[:, phase], 1))

    def _sampling(self, tally: Tally) -> Floats:
        """Return the most that the choice of reporters adds to the variance, as a mean over
        symbols."""
        there, reports = tally.present.astype(np.float64), tally.reports[:, 1]
        left = np.maximum(there - reports, 0.0) * there / np.maximum(reports, 1)
        return np.asarray(left * (1.0 - 1.0 / self.symbols) / self.symbols)

    def guarantees(self) -> tuple[Guarantee, ...]:
        return (
            collected_guarantee(
                self.epsilon,
                self.window,
                self.tick_milliseconds,
                Point(f"accounting-of-{self.kind}", self.claim),
            ),
        )

    def audit(self) -> Mapping[str, object]:
        """Return the exact loss of the first publication, and how exact counts are."""
        units = self.first_units
        law = self.law(units)
        return {
            "charge of the first publication in nats": in_nats(units),
            "exact loss of one of its reports in nats": in_nats(law.charge),
            "probability that a report supports the true symbol": law.p,
            "probability that it supports a given other symbol": law.q,
            "variance of a count per user, first publication": law.spread / self.first_share,
            **self._more(),
        }

    @property
    @abstractmethod
    def first_units(self) -> int:
        """Return the units of a report of the first publication."""

    @property
    def first_share(self) -> float:
        """Return the share of users who report for the first publication."""
        return 1.0

    def _more(self) -> Mapping[str, object]:
        return {}

    def law_digest(self) -> bytes:
        return digest_of(
            self.kind, self.implementation, self.symbols, self.window, self.units, self.oracle
        )


def squares(apart: Floats) -> Floats:
    """Return the mean square of each row, added up in the order of symbols."""
    return np.asarray(np.cumsum(apart * apart, axis=1)[:, -1] / apart.shape[1])
