"""Shares of symbols: true, as released, and as a reader who undoes the bias estimates them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.estimates import Estimate, mean_of_runs
from fugu.dataflows.offline.evaluation.run import Run
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.stages.per_record import Elapse, passing_time
from fugu.operators.estimates.share_estimators import ShareReader, share_reader
from fugu.operators.mechanism import Floats, Integers, Releases
from fugu.operators.multi_step import rounds_of_distinct_rows


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares in each run and their differences from the true ones, `(runs, symbols)`."""

    runs: Floats
    differences: Floats

    @property
    def total_variation(self) -> Estimate:
        """Half the sum of all absolute differences; mean over runs."""
        return self._over_runs(0.5 * np.abs(self.differences).sum(axis=1))

    @property
    def largest(self) -> Estimate:
        """The largest absolute difference; mean over runs."""
        return self._over_runs(np.abs(self.differences).max(axis=1))

    @property
    def root_mean_square(self) -> Estimate:
        """Over symbols; mean over runs."""
        return self._over_runs(np.sqrt((self.differences**2).mean(axis=1)))

    @property
    def bias(self) -> tuple[Floats, Floats]:
        """Mean difference of each symbol, and its standard error."""
        return mean_of_runs(self.differences)

    def document(self, symbols: Sequence[str | int]) -> dict[str, object]:
        """The same for a machine."""
        shares, _ = mean_of_runs(self.runs)
        bias, error = self.bias
        return {
            "total_variation": self.total_variation.document(),
            "largest": self.largest.document(),
            "root_mean_square": self.root_mean_square.document(),
            "symbols": [
                {"symbol": symbol, "share": share, "bias": off, "standard_error": by}
                for symbol, share, off, by in zip(
                    symbols, shares.tolist(), bias.tolist(), error.tolist(), strict=True
                )
            ],
        }

    def _over_runs(self, values: Floats) -> Estimate:
        value, error = mean_of_runs(values)
        return Estimate(float(value), float(error))


def true_shares(sample: Sample, run: Run, symbols: int) -> Floats:
    """Of all records that a release was due for."""
    truth = sample.decoded.values[run.records]
    return np.asarray(np.bincount(truth, minlength=symbols) / len(truth))


def released_shares(sample: Sample, runs: Sequence[Run], symbols: int) -> Shares | None:
    """Of everything published, fresh or not, as a reader counts who does not know better."""
    counts = [_counts(run, symbols) for run in runs]
    if not all(count.any() for count in counts):
        return None
    return _compared([count / count.sum() for count in counts], sample, runs)


@dataclass(frozen=True, eq=False)
class Reading:
    """What the operator's own reader makes of one run; `told` marks releases that say something.

    Shares are the mean of all estimates, and None where there is none.
    """

    shares: Floats | None
    told: NDArray[np.bool_]


def readings(
    candidate: Candidate, sample: Sample, runs: Sequence[Run], symbols: int
) -> list[Reading] | None:
    """Of runs as they were published; None if nobody knows how to read them."""
    reader = share_reader(candidate.mechanism)
    if reader is None:
        return None
    elapse = passing_time(candidate.unbudgeted)
    return [_read(reader, elapse, sample, run, symbols) for run in runs]


def debiased_shares(
    found: Sequence[Reading] | None, sample: Sample, runs: Sequence[Run]
) -> Shares | None:
    """What readers estimate who know the operator, if every run has something to read."""
    shares = [reading.shares for reading in found or ()]
    read = [some for some in shares if some is not None]
    return _compared(read, sample, runs) if len(read) == len(runs) else None


def _compared(shares: list[Floats], sample: Sample, runs: Sequence[Run]) -> Shares:
    found = np.stack(shares)
    truth = np.stack([true_shares(sample, run, found.shape[1]) for run in runs])
    return Shares(found, found - truth)


def _counts(run: Run, symbols: int) -> Integers:
    """How many releases report each symbol; one that is a set reports several."""
    values = run.releases.values[run.published]
    if values.ndim == 1:
        return np.asarray(np.bincount(values.astype(np.int64), minlength=symbols))
    return np.asarray(values.sum(axis=0, dtype=np.int64))


def _read(
    reader: ShareReader, elapse: Elapse | None, sample: Sample, run: Run, symbols: int
) -> Reading:
    """Stream by stream in the order of releases."""
    streams, timestamps = sample.streams[run.records], sample.decoded.timestamps
    state, total, count = reader.start(sample.stream_count), np.zeros(symbols), 0
    told = np.zeros(len(streams), dtype=bool)
    for chosen in rounds_of_distinct_rows(streams):
        row = streams[chosen]
        before = {name: column[row] for name, column in state.items()}
        if elapse is not None:
            before = elapse(before, [timestamps[record] for record in run.records[chosen]])
        releases = Releases(run.releases.values[chosen], kinds=run.kinds[chosen])
        after, estimates = reader.read(before, releases)
        for name, column in after.items():
            state[name][row] = column
        says = ~np.isnan(estimates).any(axis=tuple(range(1, estimates.ndim)))
        told[chosen] = says
        by_record = estimates[says].reshape(-1, symbols)
        total += by_record.sum(axis=0)
        count += len(by_record)
    return Reading(total / count if count else None, told)
