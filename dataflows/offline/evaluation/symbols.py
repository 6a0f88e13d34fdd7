"""How useful releases of symbols are: how often wrong, by how much, and what they say of shares.

Where releases are lists, every symbol of a list is compared with the truth of its own record.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.distances import IN_WORDS, name_of
from fugu.dataflows.offline.evaluation.estimates import Estimate
from fugu.dataflows.offline.evaluation.learning import Learning
from fugu.dataflows.offline.evaluation.lists import record_by_record
from fugu.dataflows.offline.evaluation.run import Run
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.offline.evaluation.shares import (
    Shares,
    debiased_shares,
    readings,
    released_shares,
)
from fugu.dataflows.offline.evaluation.utility import Cells, Lines, Spending, mean_cost
from fugu.operators.mechanism import Kind
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.distances import HAMMING, Distance

_MOST_COLUMNS = 8
"""Larger alphabets are shown by symbol in JSON only."""


@dataclass(frozen=True, eq=False)
class SymbolUtility:
    """`wrong` and `distance` are of all records that something was published about, and None where
    releases are sets. `expected_wrong` is what confidences say, None without any, and `of_these`
    how often those are wrong that have one, None where all have. `learning` is for operators that
    learn a model as they go."""

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

    def document(self) -> dict[str, object]:
        """Everything, for a machine; shares and rates are between 0 and 1."""
        return {
            "error_rate": self.wrong and self.wrong.document(),
            "expected_error_rate": self.expected_wrong,
            "error_rate_of_these": self.of_these and self.of_these.document(),
            "distance": name_of(self.measure),
            "mean_distance": self.distance and self.distance.document(),
            "released_shares": self.released and self.released.document(self.symbols),
            "debiased_shares": self.debiased and self.debiased.document(self.symbols),
            "learning": self.learning and self.learning.document(),
            **self.spending.document(),
        }

    def tables(self) -> Mapping[str, Cells]:
        """Single records; error of shares; and, for a small alphabet, the bias by symbol."""
        expected = nan if self.expected_wrong is None else self.expected_wrong
        single = {
            "wrong, %": _percent(self.wrong),
            "expected, %": _percent(Estimate(expected, nan)),
            "of these, %": _percent(self.of_these),
        }
        title = "Single records: how often wrong"
        if name_of(self.measure) in IN_WORDS:
            title += f", and the mean distance: {IN_WORDS[name_of(self.measure)]}"
            single["distance"] = "—" if self.distance is None else self.distance.shown(".3f")
        single["learned"] = "—" if self.learning is None else f"{self.learning.share:.1%}"
        released, debiased = self.released, self.debiased
        shares = {
            "released": "—" if released is None else _percent(released.total_variation),
            "debiased": "—" if debiased is None else _percent(debiased.total_variation),
            "largest, debiased": "—" if debiased is None else _percent(debiased.largest),
        }
        tables: dict[str, Cells] = {
            title: single,
            **self.spending.tables(),
            "Error of shares in % of records: half the sum over symbols, and the largest": shares,
        }
        if len(self.symbols) <= _MOST_COLUMNS:
            tables["Bias of released shares, in % of records"] = self._bias(released)
            tables["Bias of debiased shares, in % of records"] = self._bias(debiased)
        return tables

    def panels(self) -> Mapping[str, Lines]:
        """Wrong symbols, and the error of shares without and with a reader who knows better."""
        released, debiased = self.released, self.debiased
        measured = {
            "wrong symbols, %": self.wrong,
            "error of released shares, %": None if released is None else released.total_variation,
            "error of debiased shares, %": None if debiased is None else debiased.total_variation,
        }
        return {
            panel: {} if estimate is None else {"": estimate.scaled(100.0)}
            for panel, estimate in measured.items()
        }

    def notes(self) -> list[str]:
        """How to read what is not obvious."""
        return [
            "expected: how often wrong a reader thinks that records are, from their confidence. "
            "Where not all have one, those that do are counted once more under: of these. If both "
            "are far apart, the model does not fit the sample.",
            "debiased: what a reader makes of the releases who knows the operator.",
        ]

    def own_notes(self) -> list[str]:
        """How far a model was learned."""
        return [] if self.learning is None else [self.learning.note()]

    def _bias(self, shares: Shares | None) -> Cells:
        names = [str(symbol) for symbol in self.symbols]
        if shares is None:
            return dict.fromkeys(names, "—")
        means, errors = shares.bias
        return {
            name: _percent(Estimate(mean, error), "+.1f")
            for name, mean, error in zip(names, means.tolist(), errors.tolist(), strict=True)
        }


@dataclass(frozen=True, eq=False)
class SymbolMeasure:
    """Compares releases of symbols with the truth, in the distance that the pipeline declares."""

    symbols: Sequence[str | int]
    distance: Distance = HAMMING

    def __call__(self, candidate: Candidate, sample: Sample, runs: Sequence[Run]) -> SymbolUtility:
        """All runs of one candidate."""
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
    """How often those releases are wrong that have a confidence, where only some have one."""
    confident = np.concatenate([run.confident[run.published] for run in runs])
    if confident.all() or not confident.any():
        return None
    return mean_cost(sample, [run.of(run.confident) for run in runs], HAMMING.between)


def _percent(estimate: Estimate | None, form: str = ".2f") -> str:
    return "—" if estimate is None else estimate.scaled(100.0).shown(form)
