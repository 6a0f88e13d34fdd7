"""Measure releases of symbols: how often wrong, by how much, and what they say of shares.

Where releases are lists, every symbol of a list is compared with the truth of its own record.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.estimates import NOTHING, Estimate, estimates, percent
from fugu.dataflows.offline.evaluation.records.learning import Learning
from fugu.dataflows.offline.evaluation.records.lists import record_by_record
from fugu.dataflows.offline.evaluation.records.shares import (
    Shares,
    debiased_shares,
    readings,
    released_shares,
)
from fugu.dataflows.offline.evaluation.records.spending import Spending, mean_cost
from fugu.dataflows.offline.evaluation.report import Figure, Points, Utility
from fugu.dataflows.offline.evaluation.run import Run
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.operators.mechanism import Kind, Mechanism
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.distances import HAMMING, Distance, Ordered

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
        case AdaptiveRelease(distance="steps"):
            return Ordered()
    return HAMMING


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

    def panels(self) -> Mapping[str, Points]:
        released, debiased = self.released, self.debiased
        measured = {
            "wrong symbols, %": self.wrong,
            "error of released shares, %": released.total_variation if released else None,
            "error of debiased shares, %": debiased.total_variation if debiased else None,
        }
        return {
            panel: {} if estimate is None else {"": estimate.scaled(100.0)}
            for panel, estimate in measured.items()
        }

    def notes(self) -> Sequence[str]:
        return () if self.learning is None else [self.learning.note()]


@dataclass(frozen=True, eq=False)
class SymbolMeasure:
    """Compare releases of symbols with the truth, in the distance that the pipeline declares."""

    symbols: Sequence[str | int]
    distance: Distance = HAMMING

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
