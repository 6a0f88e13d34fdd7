"""All occurrences of policies within a span of ticks at once, as columns."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fugu.operators.mechanism import Integers
from fugu.operators.swellfish.occurrences import Admitted


@dataclass(frozen=True, eq=False)
class Occurrences:
    """Hold an occurrence in each row.

    `policy` is the place of its policy; `start` and `end` are its interval, `length` is T, and
    `largest` the largest of its thresholds.
    """

    policy: Integers
    start: Integers
    end: Integers
    length: Integers
    largest: Integers


def expanded(
    admitted: Sequence[Admitted], first: int, last: int, tick_milliseconds: int
) -> Occurrences:
    """Return all occurrences that share a tick with [first, last], in order of start and end.

    They are those that `Admitted.overlapping` yields.
    Source: Swellfish specification, section 2 (expansion).
    """
    found = [np.zeros((0, 5), dtype=np.int64)]
    for place, one in enumerate(admitted):
        start, end = one.policy.when.spans(first, last, tick_milliseconds).T
        counts = (start >= one.first) & (start < one.until)
        start, end = start[counts], end[counts]
        rows = np.empty((len(start), 5), dtype=np.int64)
        rows[:, 0], rows[:, 1], rows[:, 2] = place, start, end
        rows[:, 3] = np.minimum(one.policy.length, end - start + 1)
        rows[:, 4] = max(one.policy.thresholds)
        found.append(rows)
    rows = np.concatenate(found)
    return Occurrences(*rows[np.lexsort((rows[:, 2], rows[:, 1]))].T)
