"""A process that keeps dying is started less and less often."""

from fugu.dataflows.run.back_off import BackOff


def test_waits_double_up_to_half_a_minute() -> None:
    back_off = BackOff()
    assert [back_off.after(1) for _ in range(8)] == [0.5, 1, 2, 4, 8, 16, 30, 30]


def test_a_minute_of_life_begins_anew() -> None:
    back_off = BackOff()
    waits = [back_off.after(life) for life in (0, 59, 60, 1)]
    assert waits == [0.5, 1, 0.5, 1]
