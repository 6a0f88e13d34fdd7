"""Measure how much a longer promise costs."""

from examples.city.example import STRATEGIES
from examples.city.people import People
from examples.city.windows import mean_error


def test_figures_are_worse_where_the_promise_is_about_longer_times() -> None:
    counts = People(3_000).counts()
    sample, distribution = (
        [mean_error(strategy, window, counts, runs=2) for window in (4, 24, 96)]
        for strategy in STRATEGIES
    )
    assert sample == sorted(sample)
    assert distribution == sorted(distribution)
    assert distribution[1] < sample[1], "what commuters do is worth noticing within six hours"
