"""The utility table of section 9 of the TLDP specification: series, what it prints, and our own.

Running counts are of up moves, each as likely as a down move; averages are of a random walk with
Gaussian steps of variance 1. Every stream is a run with series of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from pathlib import Path

import numpy as np

from fugu.dataflows.base.batches import DeadLetters, Decoded
from fugu.dataflows.kinds import TemporalOperator
from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.run import released, secret_of
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.offline.evaluation.temporal.displaced import Displaced, displaced
from fugu.dataflows.offline.evaluation.temporal.family import grid_of
from fugu.dataflows.offline.evaluation.temporal.measure import TemporalMeasure
from fugu.dataflows.offline.evaluation.temporal.numbers import Numbers, Reading
from fugu.dataflows.offline.evaluation.temporal.utility import ErrorsOfAverage, ErrorsOfCount
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.operators.mechanism import Floats
from fugu.operators.temporal.dispatch_law import Costs
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation
from tests.dataflows.stages.displaced.running import pipeline_file

WINDOW = 10
PRINTED_STEPS = 14_058
EPSILONS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
PENDING = {4.0: 4, 5.0: 3, 6.0: 2, 7.0: 2, 8.0: 1}
"""The number of values that wait, where the threshold can be derived."""
PRINTED_LAPLACE = (3.9e4, 1.0e4, 4500, 2500, 1550, 1090, 816, 629)
"""The moving average of `laplace`, which goes by the square of the range of the values."""
PRINTED = {
    "count, threshold": (5.0e6, 5.3e5, 214, 5.03, 2.99, 1.51, 1.51, 0.50),
    "count, threshold, filled": (3230, 369, 12.5, 5.03, 2.99, 1.51, 1.51, 0.50),
    "count, backward": (1770, 804, 1190, 970, 633, 928, 698, 420),
    "count, forward": (2.0e6, 2.0e6, 1.8e6, 1.6e6, 1.3e6, 8.2e5, 5.0e5, 2.5e5),
    "count, forward, filled": (753, 1160, 1220, 647, 874, 812, 437, 479),
    "count, grr, filled": (2.7e4, 6700, 1800, 3000, 432, 294, 296, 127),
    "average, threshold": (2.07, 1.95, 1.94, 1.26, 0.732, 0.347, 0.345, 0.102),
    "average, threshold, moved": (0.997, 0.265, 0.147, 0.168, 0.158, 0.116, 0.116, 0.054),
    "average, backward": (1.55, 1.31, 1.03, 0.759, 0.500, 0.303, 0.185, 0.105),
    "average, forward": (1.06, 0.840, 0.607, 0.382, 0.219, 0.116, 0.064, 0.038),
}


@dataclass(frozen=True, eq=False)
class Series:
    """Every record of every stream, as the operator reads it and as two kinds of numbers."""

    sample: Sample
    moves: Numbers
    walk: Numbers

    @property
    def range(self) -> float:
        """Return the range of all walks, which laplace is given."""
        assert self.walk.reading.value_range is not None
        lower, upper = self.walk.reading.value_range
        return float(upper - lower)

    @classmethod
    def of(cls, steps: int, streams: int, seed: int) -> "Series":
        """Streams take turns."""
        random = np.random.default_rng(seed)
        moves = random.choice([-1.0, 1.0], size=steps * streams)
        walk = np.cumsum(random.standard_normal((steps, streams)), axis=0).ravel()
        keys = [b"run %d" % stream for stream in range(streams)] * steps
        offsets = list(range(len(keys)))
        values = np.array([b"-"] * len(keys), dtype=object)
        decoded = Decoded(0, offsets, offsets, keys, values, None, DeadLetters())
        sample = Sample(Path("series"), decoded, np.tile(np.arange(streams), steps))
        observed = Fraction(floor(walk.min())), Fraction(ceil(walk.max()))
        return cls(
            sample,
            Numbers(moves, Reading(count_above=0.0)),
            Numbers(walk, Reading(value_range=observed)),
        )


@dataclass(frozen=True, eq=False)
class Measured:
    """Measures the rows of the table, one after another."""

    file: PipelineFile
    series: Series

    def rows(self, epsilon: float, kinds: Sequence[str]) -> dict[str, float]:
        """Mean squared errors, by their names in `PRINTED`."""
        operator = self.file.pipeline.operator
        assert isinstance(operator, TemporalOperator)
        rivals = [f"{kind}_perturbation" for kind in kinds] + list(kinds)
        rivals += ["extended_threshold_perturbation"] * ("threshold" in kinds)
        found = grid_of(operator, [epsilon], rivals, self.series.walk).candidates
        rows: dict[str, float] = {}
        ticks: Displaced | None = None
        for candidate in found:
            if isinstance(candidate.mechanism, TemporalPerturbation):
                run = displaced(candidate, self.file.pipeline, self.series.sample, SECRET)
                ticks = ticks or run
                count, average = self._displaced(candidate.mechanism, run)
            else:
                assert ticks is not None
                count, average = self._changed(candidate, ticks)
            name = candidate.name.removeprefix("extended_").removesuffix(", eps/2")
            rows |= {
                f"count, {name}": count.plain.value,
                f"count, {name}, filled": count.filled.value,
                f"average, {name}": average.plain.value,
                f"average, {name}, moved": average.moved.value,
            }
        return rows

    def _displaced(
        self, mechanism: TemporalPerturbation, run: Displaced
    ) -> tuple[ErrorsOfCount, ErrorsOfAverage]:
        moves, walk = (
            TemporalMeasure(self.series.sample, Costs(), numbers).displacing(mechanism, [run])
            for numbers in (self.series.moves, self.series.walk)
        )
        assert moves.count is not None
        assert walk.average is not None
        return moves.count, walk.average

    def _changed(
        self, candidate: Candidate, ticks: Displaced
    ) -> tuple[ErrorsOfCount, ErrorsOfAverage]:
        numbers = self.series.moves if candidate.kind == "grr" else self.series.walk
        records = np.arange(self.series.sample.records)
        sample = numbers.sample_for(candidate, self.series.sample, records)
        noisy: Floats = released(
            candidate, self.file.pipeline, sample, SECRET
        ).releases.values.astype(np.float64)
        measure = TemporalMeasure(self.series.sample, Costs(), numbers)
        utility = measure.changing(candidate.mechanism, ticks, [noisy])
        assert utility.count is not None
        assert utility.average is not None
        return utility.count, utility.average


SECRET = secret_of(seed=9, run=0)


def of_pending(waiting: int) -> float:
    """The error of a count that lacks so many values, each of which counts with chance 1/2."""
    return waiting / 4 + waiting**2 / 4


def of_laplace(series: Series, epsilon: float) -> float:
    """The variance of a mean of ten, or of fewer in the beginning, with a scale of 2 range /
    epsilon."""
    steps = series.sample.longest_stream
    averaged = np.minimum(np.arange(1, steps + 1), 10)
    return 2.0 * (2.0 * series.range / epsilon) ** 2 * float(np.mean(1.0 / averaged))


def measured(directory: Path, steps: int, streams: int, seed: int) -> Measured:
    """The pipeline of the table over such series; a threshold of its own is always derivable."""
    operator = {"kind": "threshold_perturbation", "window": WINDOW, "threshold": 7}
    return Measured(pipeline_file(directory, {}, operator), Series.of(steps, streams, seed))
