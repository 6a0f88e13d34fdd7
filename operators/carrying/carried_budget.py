"""Carry the columns of a budget over to another one."""

import numpy as np

from fugu.operators.budget import Budgeted
from fugu.operators.budget_ledger import EXHAUSTED, LAST, WINDOW
from fugu.operators.mechanism import Array, Integers, State


def carried_budget(
    becomes: Budgeted, before: State, spent: Integers, factor: int, places: Integers | None
) -> State:
    """Return the columns of a budget for rows that have `spent` so much, `before` it or another.

    A window that becomes longer knows less of the past than it needs: what was spent before the
    positions that are known counts as spent at the newest of the others.
    """
    count = len(spent)
    fresh = becomes.start(count)
    columns = {LAST: _last(fresh[LAST], before.get(LAST), places)}
    if becomes.window is None:
        columns[EXHAUSTED] = before.get(EXHAUSTED, fresh[EXHAUSTED])
    else:
        known = before.get(WINDOW, np.zeros((count, 0), dtype=np.int64)) * factor
        columns[WINDOW] = _window(fresh[WINDOW], known, spent)
    return columns


def _last(constants: Array, before: Array | None, places: Integers | None) -> Array:
    """Return what is repeated: the last release, where the new law could have made it, too."""
    if before is None or places is None:
        return constants
    if before.ndim == constants.ndim == 1 and before.dtype == constants.dtype:
        return places[before]
    return constants


def _window(fresh: Integers, known: Integers, spent: Integers) -> Integers:
    length, old = fresh.shape[1], known.shape[1]
    if length <= old:
        return np.ascontiguousarray(known[:, old - length :])
    window = fresh.copy()
    window[:, length - old :] = known
    window[:, length - old - 1] = spent - known.sum(axis=1, dtype=np.int64)
    return window
