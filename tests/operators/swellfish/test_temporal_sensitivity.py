"""Delta_t: the numbers of the paper's example, and enumerations of what can change."""

from itertools import combinations, product
from random import Random

import pytest

from fugu.operators.swellfish.occurrence import Occurrence, affected_ticks
from fugu.operators.swellfish.temporal_sensitivity import Query, QueryKind
from tests.operators.swellfish.enumeration import random_occurrence, windows

TEA, SHOWER = Occurrence(2, 3, (10,)), Occurrence(3, 6, (22, 22))


def at(tick: int, query: Query, *occurrences: Occurrence) -> int:
    return query.sensitivity(
        [one.change_at(tick) for one in occurrences if one.start <= tick <= one.end]
    )


def test_example_of_the_paper() -> None:
    capped, free = Query("sum", 25), Query("sum", 100)
    assert [at(tick, free, TEA, SHOWER) for tick in range(1, 8)] == [0, 10, 32, 22, 22, 22, 0]
    assert [at(tick, capped, TEA, SHOWER) for tick in range(1, 8)] == [0, 10, 25, 22, 22, 22, 0]


def test_counts_and_histograms_do_not_add_up() -> None:
    count, histogram = Query("count", 1), Query("histogram", 2)
    nothing = Occurrence(4, 8, (0,))
    everything = TEA, SHOWER, nothing
    assert [at(tick, count, *everything) for tick in range(1, 9)] == [0, 1, 1, 1, 1, 1, 0, 0]
    assert [at(tick, histogram, *everything) for tick in range(1, 9)] == [0, 2, 2, 2, 2, 2, 0, 0]


def test_change_at_a_tick_is_the_largest_of_all_places_of_the_pattern() -> None:
    random = Random(5)
    for _ in range(300):
        occurrence = random_occurrence(random)
        for tick in range(-1, 12):
            possible = [
                occurrence.thresholds[tick - window.start]
                for window in windows(occurrence)
                if tick in window
            ]
            assert occurrence.change_at(tick) == max(possible, default=0)


def test_multi_histogram_covers_every_choice_of_flips() -> None:
    random = Random(6)
    names = ("bath", "bed", "hall", "sauna")
    for _ in range(100):
        query = Query("multi_histogram", random.randrange(1, 5), names)
        about = [tuple(random.sample(names, random.randrange(4))) for _ in range(2)]
        changes = [random.randrange(3) for _ in about]
        flips = [
            [
                set(chosen)
                for size in range(change + 1)
                for chosen in combinations(of or names, size)
            ]
            for change, of in zip(changes, about, strict=True)
        ]
        most = max(len(one | other) for one, other in product(*flips))
        assert query.sensitivity(changes, about) >= min(most, query.largest_change)
        touched = {name for c, of in zip(changes, about, strict=True) if c for name in of or names}
        assert query.sensitivity(changes, about) <= min(sum(changes), len(touched))


def test_stream_that_would_be_a_neighbour_by_minimal_sets_of_secret_pairs_is_none() -> None:
    occurrence = Occurrence(1, 3, (1, 1))
    before, after = (0, 0, 0), (1, 1, 10**6)
    changed = [abs(new - old) for old, new in zip(before, after, strict=True)]
    assert changed[2] > occurrence.change_at(3) == 1
    assert sum(change > 0 for change in changed) > affected_ticks(1, 3, [occurrence]) == 2


@pytest.mark.parametrize(
    ("field", "query"),
    [
        ("kind", ("mean", 1, ())),
        ("largest_change", ("sum", 0, ())),
        ("largest_change", ("count", 2, ())),
        ("largest_change", ("histogram", 1, ())),
        ("largest_change", ("multi_histogram", 3, ("bed", "bath"))),
        ("activities", ("multi_histogram", 3, ())),
        ("activities", ("multi_histogram", 1, ("bed", "bed"))),
        ("activities", ("sum", 3, ("bed",))),
    ],
)
def test_query_names_the_field_that_is_wrong(
    field: str, query: tuple[QueryKind, int, tuple[str, ...]]
) -> None:
    with pytest.raises(ValueError, match=f"^{field}: "):
        Query(*query)
