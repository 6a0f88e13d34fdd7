"""Estimate shares of symbols: as released, and as a reader does who undoes the bias."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.estimates import Estimate, estimate, estimates
from fugu.dataflows.offline.evaluation.run import Run
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.stages.per_record import passing_time
from fugu.operators.estimates.shares import ShareReader, share_reader
from fugu.operators.mechanism import Floats, Integers, Releases
from fugu.operators.multi_step import rounds_of_distinct_rows


@dataclass(frozen=True, eq=False)
class Shares:
    """Compare shares in each run with the true ones; both arrays are `(runs, symbols)`."""

    runs: Floats
    differences: Floats

    @property
    def total_variation(self) -> Estimate:
        """Return half the sum of all absolute differences; the mean over runs."""
        return estimate(0.5 * np.abs(self.differences).sum(axis=1))

    @property
    def largest(self) -> Estimate:
        """Return the largest absolute difference; the mean over runs."""
        return estimate(np.abs(self.differences).max(axis=1))

    @property
    def root_mean_square(self) -> Estimate:
        """Return the root mean square over symbols; the mean over runs."""
        return estimate(np.sqrt((self.differences**2).mean(axis=1)))

    def document(self, symbols: Sequence[str | int]) -> dict[str, object]:
        """Return the same for a machine."""
        columns = zip(symbols, estimates(self.runs), estimates(self.differences), strict=True)
        return {
            "total_variation": self.total_variation,
            "largest": self.largest,
            "root_mean_square": self.root_mean_square,
            "symbols": [
                {
                    "symbol": symbol,
                    "share": share.value,
                    "bias": off.value,
                    "standard_error": off.standard_error,
                }
                for symbol, share, off in columns
            ],
        }


@dataclass(frozen=True, eq=False)
class Reading:
    """Hold what the operator's own reader makes of one run.

    `told` marks releases that say something. Shares are the mean of all estimates, and None where
    there is none.
    """

    shares: Floats | None
    told: NDArray[np.bool_]


def released_shares(sample: Sample, runs: Sequence[Run], symbols: int) -> Shares | None:
    """Count everything published, fresh or not, as a reader does who does not know better."""
    counts = [_counts(run, symbols) for run in runs]
    if not all(count.any() for count in counts):
        return None
    return _compared([count / count.sum() for count in counts], sample, runs)


def debiased_shares(
    found: Sequence[Reading] | None, sample: Sample, runs: Sequence[Run]
) -> Shares | None:
    """Return what readers estimate who know the operator, if every run has something to read."""
    shares = [reading.shares for reading in found or () if reading.shares is not None]
    return _compared(shares, sample, runs) if len(shares) == len(runs) else None


def readings(
    candidate: Candidate, sample: Sample, runs: Sequence[Run], symbols: int
) -> list[Reading] | None:
    """Read runs as they were published; return None if nobody knows how to."""
    reader = share_reader(candidate.mechanism)
    if reader is None:
        return None
    return [_read(reader, candidate, sample, run, symbols) for run in runs]


def _compared(shares: list[Floats], sample: Sample, runs: Sequence[Run]) -> Shares:
    """Compare with the shares of all records, also of those in which a stream is absent."""
    found = np.stack(shares)
    truths = [sample.decoded.values[run.records] for run in runs]
    symbols = found.shape[1]
    known = [np.bincount(truth, minlength=symbols)[:symbols] / len(truth) for truth in truths]
    return Shares(found, found - np.stack(known))


def _counts(run: Run, symbols: int) -> Integers:
    """Count how many releases report each symbol; one that is a set reports several."""
    values = run.releases.values[run.published]
    if values.ndim == 1:
        return np.asarray(np.bincount(values.astype(np.int64), minlength=symbols))
    return np.asarray(values.sum(axis=0, dtype=np.int64))


def _read(
    reader: ShareReader, candidate: Candidate, sample: Sample, run: Run, symbols: int
) -> Reading:
    """Read stream by stream in the order of releases."""
    elapse = passing_time(candidate.unbudgeted)
    streams, timestamps = sample.streams[run.records], sample.decoded.timestamps
    state, total, count = reader.start(sample.stream_count), np.zeros(symbols), 0
    told = np.zeros(len(streams), dtype=bool)
    for chosen in rounds_of_distinct_rows(streams):
        row = streams[chosen]
        before = {name: column[row] for name, column in state.items()}
        if elapse is not None:
            before = elapse(before, [timestamps[record] for record in run.records[chosen]])
        releases = Releases(run.releases.values[chosen], kinds=run.kinds[chosen])
        after, found = reader.read(before, releases)
        for name, column in after.items():
            state[name][row] = column
        says = ~np.isnan(found).any(axis=tuple(range(1, found.ndim)))
        told[chosen] = says
        by_record = found[says].reshape(-1, symbols)
        total += by_record.sum(axis=0)
        count += len(by_record)
    return Reading(total / count if count else None, told)
