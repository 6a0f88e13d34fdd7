"""Lift a mechanism to batches: the one place that knows both the row table and `Mechanism.step`.

`step` wants distinct rows, so a batch is cut into rounds: the first occurrence of every key, then
the second, and so on. Releases go back into input order. How the input was cut into batches never
shows, because a draw depends on the record's position and a row on its own history only.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dataflows.batches import Decoded, Sanitized
from dataflows.state import RowTable
from operators.mechanism import Array, Inputs, Integers, Mechanism, Releases
from operators.randomness import DrawScope, record_positions


@dataclass(frozen=True)
class Lift:
    """One mechanism over the streams of one partition of the topic identified by `source`."""

    mechanism: Mechanism
    scope: DrawScope
    source: str
    table: RowTable

    def __call__(self, decoded: Decoded) -> Sanitized:
        """Release every accepted record, once."""
        rows = self.table.rows_of(decoded.keys)
        positions = record_positions(self.source, decoded.partition, decoded.offsets)
        rounds = []
        for index in rounds_of_distinct_rows(rows):
            draws = self.scope.draws(
                [decoded.keys[i] for i in index], [positions[i] for i in index]
            )
            state, releases = self.mechanism.step(
                self.table.gather(rows[index]), Inputs(decoded.values[index]), draws
            )
            self.table.scatter(rows[index], state)
            rounds.append((index, releases))
        return Sanitized(
            decoded.partition,
            decoded.offsets,
            decoded.timestamps,
            decoded.keys,
            _in_input_order(rounds),
            decoded.dead,
        )


def rounds_of_distinct_rows(rows: Integers) -> Iterator[Integers]:
    """Indices of the first occurrence of every row, then of the second, ...

    One empty round stands for an empty batch.

    >>> [index.tolist() for index in rounds_of_distinct_rows(np.array([7, 3, 7, 7, 3]))]
    [[0, 1], [2, 4], [3]]
    """
    if len(rows) == 0:
        yield rows
        return
    by_row = np.argsort(rows, kind="stable")
    ordered = rows[by_row]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    starts = np.maximum.accumulate(np.where(is_first, np.arange(len(rows)), 0))
    occurrence = np.empty(len(rows), dtype=np.int64)
    occurrence[by_row] = np.arange(len(rows)) - starts
    by_round = np.argsort(occurrence, kind="stable")
    yield from np.split(by_round, np.cumsum(np.bincount(occurrence))[:-1])


def _in_input_order(rounds: list[tuple[Integers, Releases]]) -> Releases:
    order = np.argsort(np.concatenate([index for index, _ in rounds]))

    def column(parts: list[Array]) -> Array:
        return np.concatenate(parts)[order]

    names = rounds[0][1].annotations
    return Releases(
        column([releases.values for _, releases in rounds]),
        {name: column([r.annotations[name] for _, r in rounds]) for name in names},
    )
