"""Compute what the demo's analyst can from the sanitized topic and the public model alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import orjson
from numpy.typing import NDArray

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.multi_step import rounds_of_distinct_rows
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse


@dataclass(frozen=True)
class Released:
    """Hold one entry per release, in the order of its partition."""

    keys: list[bytes]
    zones: Integers
    confidence: Floats

    @classmethod
    def of(cls, batches: Sequence[Batch], alphabet: Sequence[str]) -> "Released":
        """Parse the records of the sanitized topic."""
        index = {symbol: number for number, symbol in enumerate(alphabet)}
        releases = [orjson.loads(value or b"") for batch in batches for value in batch.values]
        return cls(
            [key or b"" for batch in batches for key in batch.keys],
            np.array([index[release["zone"]] for release in releases], dtype=np.int64),
            np.array([release["confidence"] for release in releases]),
        )

    def shares(self, symbols: int) -> Floats:
        """Return the relative frequency of every released symbol, biased towards likely ones."""
        counts: Floats = np.bincount(self.zones, minlength=symbols) / len(self.zones)
        return counts

    def corrected_shares(self, mechanism: ConditionalRandomizedResponse) -> Floats:
        """Return the mean posterior over all releases, unbiased if the model is right."""
        table = RowTable(mechanism.start)
        rows = table.rows_of(self.keys)
        total = np.zeros(mechanism.model.symbols)
        for index in rounds_of_distinct_rows(rows):
            state, posterior = mechanism.observe(table.gather(rows[index]), self.zones[index])
            table.scatter(rows[index], state)
            total += posterior.sum(axis=0)
        return total / len(self.zones)

    def expected_wrong(self, zone: int) -> float:
        """Return the share of the releases of a zone that are expected not to be the truth."""
        return 1.0 - _mean(self.confidence[self.zones == zone])

    def measured_wrong(self, zone: int, truth: Integers) -> float:
        """Return the share that is not the truth; only a demo knows it."""
        return _mean(truth[self.zones == zone] != zone)


def _mean(values: Floats | NDArray[np.bool_]) -> float:
    return float(values.mean()) if len(values) else float("nan")
