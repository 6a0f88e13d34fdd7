"""Put the releases of each user into the order in which they were made.

A partition holds them in order. A user who moved to another partition (`source.partitions: follow`,
`fugu state repartition`) has releases in several, and what is in one was made before what is in the
next. Where times in two partitions overlap, as after `fugu redrive`, nothing public says which
release came first.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fugu.operators.mechanism import Integers


def in_order(records: pa.Table, users: Integers) -> tuple[pa.Table, Integers, int]:
    """Return records with the users of each, ordered within users, and how many users were left
    out, because the order of their releases is not known."""
    partitions = records["partition"].to_numpy()
    present = np.zeros((int(partitions.max(initial=0)) + 1, int(users.max(initial=0)) + 1), bool)
    present[partitions, users] = True
    moved = present.sum(axis=0) > 1
    if not moved.any():
        return records, users, 0
    own = np.flatnonzero(moved[users])
    times = pc.cast(records["time"], pa.int64()).to_numpy()[own]
    stays = users[own].astype(np.int64) * len(present) + partitions[own]
    distinct, stay = np.unique(stays, return_inverse=True)
    first = np.full(len(distinct), np.iinfo(np.int64).max)
    last = np.full(len(distinct), np.iinfo(np.int64).min)
    np.minimum.at(first, stay, times)
    np.maximum.at(last, stay, times)
    whose = distinct // len(present)
    by_time = np.lexsort((first, whose))
    next_of_same = whose[by_time][1:] == whose[by_time][:-1]
    overlaps = next_of_same & (first[by_time][1:] <= last[by_time][:-1])
    unknown = np.unique(whose[by_time][1:][overlaps])
    begins = np.zeros(len(users), dtype=np.int64)
    begins[own] = first[stay]
    order = np.argsort(begins, kind="stable")
    order = order[~np.isin(users[order], unknown)]
    return records.take(pa.array(order)), users[order], len(unknown)
