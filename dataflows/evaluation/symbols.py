"""How useful releases of symbols are: how often wrong, by how much, and what they say of shares."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from dataflows.evaluation.candidates import Candidate
from dataflows.evaluation.estimates import Estimate
from dataflows.evaluation.run import Run
from dataflows.evaluation.sample import Sample
from dataflows.evaluation.shares import Shares, debiased_shares, released_shares
from dataflows.evaluation.utility import Cells, Lines, Spending, mean_cost
from operators.mechanism import Array

_MOST_COLUMNS = 8
"""Larger alphabets are shown by symbol in JSON only."""


@dataclass(frozen=True, eq=False)
class SymbolUtility:
    """`wrong` and `distance` are of everything published, and None where releases are sets;
    `expected_wrong` is what confidences say, None without any."""

    symbols: Sequence[str | int]
    wrong: Estimate | None
    expected_wrong: float | None
    distance: Estimate | None
    released: Shares | None
    debiased: Shares | None
    spending: Spending

    def document(self) -> dict[str, object]:
        """Everything, for a machine; shares and rates are between 0 and 1."""
        return {
            "error_rate": self.wrong and self.wrong.document(),
            "expected_error_rate": self.expected_wrong,
            "mean_distance": self.distance and self.distance.document(),
            "released_shares": self.released and self.released.document(self.symbols),
            "debiased_shares": self.debiased and self.debiased.document(self.symbols),
            **self.spending.document(),
        }

    def tables(self) -> Mapping[str, Cells]:
        """Single releases; error of shares; and, for a small alphabet, the bias by symbol."""
        expected = nan if self.expected_wrong is None else self.expected_wrong
        single = {
            "wrong, %": _percent(self.wrong),
            "expected, %": _percent(Estimate(expected, nan)),
            "distance": "—" if self.distance is None else self.distance.shown(".3f"),
        }
        released, debiased = self.released, self.debiased
        shares = {
            "released": "—" if released is None else _percent(released.total_variation),
            "debiased": "—" if debiased is None else _percent(debiased.total_variation),
            "largest, debiased": "—" if debiased is None else _percent(debiased.largest),
        }
        tables: dict[str, Cells] = {
            "Single releases: how often wrong, and by how many places": single,
            "What streams spent, in nats": self.spending.cells(),
            "Error of shares in % of records: half the sum over symbols, and the largest": shares,
        }
        if len(self.symbols) <= _MOST_COLUMNS:
            tables["Bias of released shares, in % of records"] = self._bias(released)
            tables["Bias of debiased shares, in % of records"] = self._bias(debiased)
        return tables

    def panels(self) -> Mapping[str, Lines]:
        """Wrong releases, and the error of shares without and with a reader who knows better."""
        released, debiased = self.released, self.debiased
        measured = {
            "wrong releases, %": self.wrong,
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
            "expected: how often wrong a reader thinks that releases are, from their confidence. "
            "If it is far from what was counted, the declared model does not fit the sample.",
            "debiased: what a reader makes of the releases who knows the operator.",
        ]

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
    """Compares releases of symbols with the truth."""

    symbols: Sequence[str | int]

    def __call__(self, candidate: Candidate, sample: Sample, runs: Sequence[Run]) -> SymbolUtility:
        """All runs of one candidate."""
        count = len(self.symbols)
        single = all(run.releases.values.ndim == 1 for run in runs)
        return SymbolUtility(
            symbols=self.symbols,
            wrong=mean_cost(sample, runs, _wrong) if single else None,
            expected_wrong=_expected_wrong(runs),
            distance=mean_cost(sample, runs, _distance) if single else None,
            released=released_shares(sample, runs, count),
            debiased=debiased_shares(candidate, sample, runs, count),
            spending=Spending.of(runs),
        )


def _expected_wrong(runs: Sequence[Run]) -> float | None:
    said = [run.releases.annotations.get("confidence") for run in runs]
    confidences = np.concatenate([some for some in said if some is not None] or [np.zeros(0)])
    confidences = confidences[~np.isnan(confidences)]
    return 1.0 - float(confidences.mean()) if len(confidences) else None


def _wrong(truth: Array, released: Array) -> Array:
    return np.asarray(truth != released)


def _distance(truth: Array, released: Array) -> Array:
    """Places in the order of the alphabet."""
    return np.asarray(np.abs(truth - released))


def _percent(estimate: Estimate | None, form: str = ".2f") -> str:
    return "—" if estimate is None else estimate.scaled(100.0).shown(form)
