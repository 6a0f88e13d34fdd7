"""One source for compiled code and the interpreter."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from fugu.operators import compiled
from fugu.operators.compiled.either import entry_point
from fugu.operators.mechanism import Integers


class Room(NamedTuple):
    """Hold a result."""

    totals: Integers


def scale(numbers: NDArray[np.int32], room: Room, factor: int) -> int:
    for place in range(len(numbers)):
        room.totals[place] = numbers[place] * factor
    return len(numbers)


@pytest.mark.parametrize("is_compiled", [True, False])
def test_small_integers_do_not_overflow_and_arrays_are_written_to(
    is_compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_compiled:
        monkeypatch.setattr(compiled, "available", lambda: False)
    numbers, totals = np.array([3, 2**31 - 1], dtype=np.int32), np.zeros(2, dtype=np.int64)
    assert entry_point(scale)(numbers, Room(totals), 2**31) == 2
    assert totals.tolist() == [3 * 2**31, (2**31 - 1) * 2**31]
