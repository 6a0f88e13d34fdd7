"""Count the ticks, windows and periods of a stretch of time, from every beginning."""

from itertools import product

import pytest

from fugu.operators.time_spans import periods_touched, ticks_touched, windows_touched


def touched(begin: int, length: int, width: int) -> set[int]:
    """The ticks that hold a millisecond of the stretch."""
    return {time // width for time in range(begin, begin + length)}


@pytest.mark.parametrize("width", range(1, 13))
def test_no_beginning_touches_more_ticks_and_one_touches_as_many(width: int) -> None:
    for length, step in product(range(1, 40), range(1, 16)):
        begins = range(0, step * width, step)
        most = max(len(touched(begin, length, width)) for begin in begins)
        assert ticks_touched(length, width, step) == most


@pytest.mark.parametrize(("width", "ticks"), [(1, 3), (4, 1), (5, 2), (3, 7)])
def test_windows_cover_every_stretch_and_fewer_do_not(width: int, ticks: int) -> None:
    for length, step in product(range(1, 50), (1, 2, 5, 6)):
        needed = []
        for begin in range(0, step * width, step):
            first, last = min(touched(begin, length, width)), max(touched(begin, length, width))
            needed.append(len(range(first, last + 1, ticks)))
        assert windows_touched(length, width, ticks, step) == max(needed)


@pytest.mark.parametrize(("width", "ticks"), [(1, 3), (4, 1), (5, 2), (3, 4)])
def test_periods_begin_at_multiples_of_their_length(width: int, ticks: int) -> None:
    for length, step in product(range(1, 40), (1, 2, 5)):
        most = max(
            len({tick // ticks for tick in touched(begin, length, width)})
            for begin in range(0, step * width * ticks, step)
        )
        assert periods_touched(length, width, ticks, step) == most
