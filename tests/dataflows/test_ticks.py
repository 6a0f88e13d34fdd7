"""Ticks of event time: which records may be taken together."""

from random import Random

from dataflows.ticks import Clock, Ticks


def test_quiet_times_are_just_those_that_are_in_time_and_close_nothing() -> None:
    """As long as stream time does not move; once it does, more may be."""
    random = Random(1)
    for _ in range(300):
        ticks = Ticks(random.randint(1, 9), random.randint(0, 30), random.randint(1, 5))
        clock: Clock = {}
        for _ in range(20):
            ticks.passed(clock, random.randrange(200))
        begin, end = ticks.quiet(clock)
        for time in range(300):
            after = dict(clock)
            plain = ticks.refusal(clock, time) is None and not ticks.passed(after, time)
            assert plain == (begin <= time < end)


def test_nothing_is_quiet_before_the_first_record() -> None:
    assert Ticks(10, 5, 3).quiet({}) == (0, 0)
