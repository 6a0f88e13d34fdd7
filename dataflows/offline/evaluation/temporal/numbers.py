"""Read payloads that are numbers, and make operators that change them instead of their ticks.

A baseline has half of epsilon for each value, so that two values which change places cost epsilon
(TLDP specification, section 6). `laplace` releases numbers, `grr` whether each is above the one
that is counted from.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import orjson

from fugu.dataflows.base.batches import RefusedRecords
from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.operators.mechanism import Floats, Integers, Mechanism
from fugu.operators.noise.number_release import LaplaceRelease
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse

BASELINES = ("laplace", "grr")
_UNITS_PER_ONE = 10**6
_LARGEST = 10**12
AVERAGE = 10


@dataclass(frozen=True)
class Reading:
    """Say over how many ticks to average, above which number to count, and the declared range.

    Without a number, the one counts that splits the sample most evenly.
    """

    average: int = AVERAGE
    count_above: float | None = None
    value_range: tuple[Fraction, Fraction] | None = None


@dataclass(frozen=True, eq=False)
class Numbers:
    """Hold the number of each record, NaN where there is none, and how it is read."""

    values: Floats
    reading: Reading

    @classmethod
    def of(cls, sample: Sample, reading: Reading) -> "Numbers | None":
        """Read payloads; return None if they are no numbers, or not all of them."""
        contents = [
            None if payload is None else orjson.loads(payload)
            for payload in sample.decoded.values.tolist()
        ]
        kinds = {type(content) for content in contents} - {type(None)}
        if not kinds or not kinds <= {int, float}:
            return None
        return cls(np.array(contents, dtype=np.float64), reading)

    @cached_property
    def counted_from(self) -> float:
        """Return the number above which values are counted."""
        if self.reading.count_above is not None:
            return self.reading.count_above
        found, counts = np.unique(self.values[~np.isnan(self.values)], return_counts=True)
        above = 1.0 - np.cumsum(counts) / counts.sum()
        return float(found[np.argmin(np.abs(above - 0.5))])

    @cached_property
    def above(self) -> Floats:
        """Return 1 for each value that is counted, 0 for others and where there is none."""
        return np.where(self.values > self.counted_from, 1.0, 0.0)

    def baseline(self, kind: str, epsilon: float) -> Candidate:
        """Change values with half of epsilon each; raise `ValueError` where that cannot be."""
        mechanism: Mechanism
        if kind == "grr":
            mechanism = GeneralizedRandomizedResponse(2, epsilon / 2.0)
        elif self.reading.value_range is None:
            raise ValueError("its noise depends on the range of values; declare it with --range")
        else:
            lower, upper = (int(bound * _UNITS_PER_ONE) for bound in self.reading.value_range)
            mechanism = LaplaceRelease(lower, upper, epsilon / 2.0, _UNITS_PER_ONE)
        return Candidate(kind, epsilon, mechanism, label=f"{kind}, eps/2")

    def sample_for(self, baseline: Candidate, sample: Sample, records: Integers) -> Sample:
        """Keep these records only, as the baseline reads them."""
        if baseline.kind == "laplace":
            assert self.reading.value_range is not None
            lower, upper = map(float, self.reading.value_range)
            clamped = np.clip(self.values[records], lower, upper)
            values = np.floor(clamped * _UNITS_PER_ONE + 0.5).astype(np.int64)
        else:
            values = self.above[records].astype(np.int64)
        chosen = replace(sample.decoded.at(records), values=values, refused=RefusedRecords())
        return replace(sample, decoded=chosen, streams=sample.streams[records])


def read_range(text: str) -> tuple[Fraction, Fraction]:
    """Read two numbers; raise `FuguError` if they are no range."""
    try:
        lower, upper = (Fraction(word.strip()) for word in text.split(","))
        ends = (lower, upper)
        fits = lower < upper and all((end * _UNITS_PER_ONE).denominator == 1 for end in ends)
        fits = fits and max(map(abs, ends)) <= _LARGEST
    except (ValueError, ZeroDivisionError):
        fits = False
    if not fits:
        raise FuguError(
            f"--range {text}: write two numbers with a comma between them, the smaller one first "
            "and at most 6 decimals and 12 digits before them each, such as 40,180"
        )
    return lower, upper
