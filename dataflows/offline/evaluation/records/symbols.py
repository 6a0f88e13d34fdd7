"""Measure releases of symbols: how often wrong, by how much, and what they say of shares.

Where releases are lists, every symbol of a list is compared with the truth of its own record.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fugu.dataflows.kinds.robust_crr import as_good_without_a_model
from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.estimates import NOTHING, Estimate, estimates, percent
from fugu.dataflows.offline.evaluation.ranking import Guess
from fugu.dataflows.offline.evaluation.records.shares import (
    Shares,
    debiased_shares,
    readings,
    released_shares,
)
from fugu.dataflows.offline.evaluation.records.spending import Spending, mean_cost
from fugu.dataflows.offline.evaluation.report import Figure, Utility
from fugu.dataflows.offline.evaluation.run import Run
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.operators.columns import taken
from fugu.operators.mechanism import Kind, Mechanism, Releases
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.cold_start import ColdStart
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.distances import HAMMING, Distance, Ordered, Points
from fugu.operators.sip.robust_release import RobustRelease

_SHARES = "Error of shares in % of records: half the sum over symbols, and the largest"
_MOST_COLUMNS = 8
"""Larger alphabets are shown by symbol in JSON only."""
_IN_WORDS = {
    "ordered": "places in the alphabet",
    "points": "Euclidean, between the declared points",
}
"""Distances whose mean says more than how often releases are wrong."""


def declared_distance(mechanism: Mechanism) -> Distance:
    """Return what a mechanism keeps small: right or wrong, where it has nothing to choose."""
    match mechanism:
        case ConditionalRandomizedResponse(distance=distance) | BatchedRelease(distance=distance):
            return distance
        case ColdStart(distance=distance):
            return distance
        case AdaptiveRelease(distance="steps"):
            return Ordered()
        case AdaptiveRelease(distance=Points() as points):
            return points
    return HAMMING


@dataclass(frozen=True)
class Learning:
    """Count streams with a learned model, which takes `positions` records.

    `learned` of the `streams` came to one, and `share` is that of the records which were published
    with it.
    """

    positions: int
    streams: int
    longest_stream: int
    learned: int
    share: float

    @classmethod
    def of(cls, candidate: Candidate, sample: Sample, runs: Sequence[Run]) -> "Learning | None":
        """Count by confidences, as there are none without a model; None: nothing is learned."""
        inside = candidate.unbudgeted
        if not isinstance(inside, ColdStart):
            return None
        learned = [np.count_nonzero(sample.by_stream(run.records, run.confident)) for run in runs]
        told = np.concatenate([run.confident[run.published] for run in runs])
        share = float(told.mean()) if len(told) else 0.0
        streams, longest = sample.stream_count, sample.longest_stream
        return cls(inside.positions, streams, longest, int(max(learned)), share)

    def note(self) -> str:
        """Say what to know before the figures are taken for those of a learned model."""
        takes = f"takes {self.positions:,} records"
        if self.learned:
            return (
                f"{self.learned:,} of {self.streams:,} streams come to their learned model, which "
                f"{takes}; everything before is released as by grr."
            )
        why = f"the longest stream has {self.longest_stream:,}"
        if self.longest_stream > self.positions:
            why = "the budget ends before"
        return (
            f"too short to switch: a learned model {takes}, and {why}. All releases are as those "
            "of grr, and say nothing about what comes after."
        )


@dataclass(frozen=True, eq=False)
class SymbolUtility(Utility):
    """Say how often symbols are wrong, by how much, and how far shares are off.

    `wrong` and `distance` are of all records that something was published about, and None where
    releases are sets. `expected_wrong` is what confidences say, None without any, and `of_these`
    how often those are wrong that have one, None where all have.
    """

    symbols: Sequence[str | int]
    measure: Distance
    wrong: Estimate | None
    expected_wrong: float | None
    of_these: Estimate | None
    distance: Estimate | None
    released: Shares | None
    debiased: Shares | None
    spending: Spending
    learning: Learning | None = None
    instead: str | None = None
    """Say that a kind without a model is as good, where it is."""

    def figures(self) -> Iterator[Figure]:
        name = str(self.measure.identity()[0])
        single = "Single records: how often wrong"
        if name in _IN_WORDS:
            single += f", and the mean distance: {_IN_WORDS[name]}"
        expected = None if self.expected_wrong is None else Estimate(self.expected_wrong)
        yield Figure("error_rate", self.wrong, single, "wrong, %", percent(self.wrong))
        yield Figure(
            "expected_error_rate", self.expected_wrong, single, "expected, %", percent(expected)
        )
        these = percent(self.of_these)
        yield Figure("error_rate_of_these", self.of_these, single, "of these, %", these)
        yield Figure("distance", name)
        distance = NOTHING if self.distance is None else self.distance.shown(".3f")
        in_table = (single, "distance", distance) if name in _IN_WORDS else ()
        yield Figure("mean_distance", self.distance, *in_table)
        learned = NOTHING if self.learning is None else f"{self.learning.share:.1%}"
        yield Figure("learning", self.learning, single, "learned", learned)
        yield from self.spending.figures()
        both = (("released", self.released), ("debiased", self.debiased))
        for name, shares in both:
            document = shares and shares.document(self.symbols)
            total = percent(shares.total_variation if shares else None)
            yield Figure(f"{name}_shares", document, _SHARES, name, total)
        largest = percent(self.debiased.largest if self.debiased else None)
        yield Figure("", None, _SHARES, "largest, debiased", largest)
        for name, shares in both if len(self.symbols) <= _MOST_COLUMNS else ():
            title = f"Bias of {name} shares, in % of records"
            biases = estimates(shares.differences) if shares else [None] * len(self.symbols)
            for symbol, bias in zip(self.symbols, biases, strict=True):
                yield Figure("", None, title, str(symbol), percent(bias, "+.1f"))

    def ranked_by(self) -> tuple[str, Estimate] | None:
        if self.debiased is not None:
            off = self.debiased.total_variation.scaled(100.0)
            return "how far debiased shares are off, in percentage points", off
        if self.wrong is not None:
            return "wrong symbols, in per cent", self.wrong.scaled(100.0)
        return None

    def notes(self) -> Sequence[str]:
        learned = [] if self.learning is None else [self.learning.note()]
        return learned if self.instead is None else [*learned, self.instead]


@dataclass(frozen=True, eq=False)
class SymbolMeasure:
    """Compare releases of symbols with the truth, in the distance that the pipeline declares."""

    symbols: Sequence[str | int]
    distance: Distance = HAMMING

    def guess(self, sample: Sample) -> Guess:
        """Return how far equal shares are off, which a person may say without any release."""
        truth, count = sample.decoded.values, len(self.symbols)
        shares = np.bincount(truth, minlength=count)[:count] / max(1, len(truth))
        off = 50.0 * float(np.abs(shares - 1.0 / count).sum())
        advice = "Such releases of so few records tell nothing of shares: take a larger epsilon, "
        return Guess("equal shares of all symbols", off, f"{advice}or more users")

    def __call__(self, candidate: Candidate, sample: Sample, runs: Sequence[Run]) -> SymbolUtility:
        """Measure all runs of one candidate."""
        count = len(self.symbols)
        by_record = runs
        if isinstance(candidate.unbudgeted, BatchedRelease):
            by_record = [record_by_record(sample, run) for run in runs]
        single = all(run.releases.values.ndim == 1 for run in by_record)
        read = readings(candidate, sample, runs, count)
        decided = [
            reading.told & (run.kinds == Kind.REPEATED)
            for reading, run in zip(read or (), runs, strict=read is not None)
        ]
        return SymbolUtility(
            symbols=self.symbols,
            measure=self.distance,
            wrong=mean_cost(sample, by_record, HAMMING.between) if single else None,
            expected_wrong=_expected_wrong(by_record),
            of_these=_wrong_of_these(sample, by_record),
            distance=mean_cost(sample, by_record, self.distance.between) if single else None,
            released=released_shares(sample, by_record, count),
            debiased=debiased_shares(read, sample, runs),
            spending=Spending.of(by_record, decided),
            learning=Learning.of(candidate, sample, runs),
            instead=(
                as_good_without_a_model(candidate.unbudgeted)
                if isinstance(candidate.unbudgeted, RobustRelease)
                else None
            ),
        )


def _expected_wrong(runs: Sequence[Run]) -> float | None:
    confidences = np.concatenate([run.confidences[run.confident] for run in runs])
    return 1.0 - float(confidences.mean()) if len(confidences) else None


def _wrong_of_these(sample: Sample, runs: Sequence[Run]) -> Estimate | None:
    """Return how often releases with a confidence are wrong, where only some have one."""
    confident = np.concatenate([run.confident[run.published] for run in runs])
    if confident.all() or not confident.any():
        return None
    return mean_cost(sample, [run.of(run.confident) for run in runs], HAMMING.between)


def record_by_record(sample: Sample, run: Run) -> Run:
    """Read lists as a reader has them: one symbol for every record that something was said about.

    A fresh list is about the last records of its stream. One that is published again for want of
    budget says nothing new and comes with every record: its last symbol stands for that record, as
    a repeated symbol does where releases are single. So every record counts once, or not at all
    while it is held back.
    """
    by_stream = np.argsort(sample.streams[run.records], kind="stable")
    lists, kinds = run.releases.values[by_stream], run.kinds[by_stream]
    notes = taken(run.releases.annotations, by_stream)
    complete = np.flatnonzero(kinds == Kind.FRESH)
    symbols = lists[:, -1].copy()
    for back in range(1, lists.shape[1]):
        record = complete - back
        symbols[record] = lists[complete, -1 - back]
        kinds[record] = Kind.FRESH
        for note in notes.values():
            note[record] = note[complete]
    place = np.argsort(by_stream)
    releases = Releases(symbols[place], taken(notes, place), kinds[place])
    return replace(run, releases=releases)
