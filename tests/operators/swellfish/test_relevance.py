"""Delta_t: the numbers of the paper's example, and enumerations of what can change."""

from fractions import Fraction
from itertools import combinations, product
from random import Random

import pytest

from fugu.operators.swellfish.policy import Occurrence, affected_ticks
from fugu.operators.swellfish.relevance import (
    Pair,
    Query,
    QueryKind,
    Value,
    between,
    distance,
    flipped,
    steps,
    threshold,
)
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


# Secret pairs: whatever two streams they make neighbours, theta and Delta_t bound the change.


ROOMS = ("bath", "bed", "hall")


def numbers(*given: int) -> list[Value]:
    return [Fraction(one) for one in given]


def random_pairs(random: Random, values: list[Value]) -> list[Pair]:
    pairs = between(values)
    return random.sample(pairs, random.randrange(1, len(pairs) + 1))


def test_theta_is_the_largest_distance_of_a_pair() -> None:
    assert threshold(between(numbers(0, 6, 2))) == 6
    assert threshold([(Fraction(3), Fraction(6)), (Fraction(0), Fraction(2))]) == 3
    assert threshold(between([frozenset(), frozenset({"bed"}), frozenset({"bath", "hall"})])) == 3
    assert threshold(between(list(ROOMS))) == 1


def test_overlapping_policies_of_pairs_move_a_sum_by_their_thetas_at_most() -> None:
    """Every rest, every value of each activity before, and every pair of it, up to the cap."""
    random, cap = Random(1), 9
    for _ in range(60):
        policies = [
            random_pairs(random, numbers(*random.sample(range(6), random.randrange(2, 5))))
            for _ in range(random.randrange(1, 3))
        ]
        amounts = [[(int(a), int(b)) for a, b in pairs] for pairs in policies]  # type: ignore[arg-type]
        swaps = [[pair for one in pairs for pair in (one, one[::-1])] for pairs in amounts]
        sums = [
            (rest + sum(before for before, _ in chosen), rest + sum(after for _, after in chosen))
            for rest in range(cap)
            for chosen in product(*swaps)
        ]
        thetas = [int(threshold(pairs)) for pairs in policies]
        capped = max(abs(min(one, cap) - min(other, cap)) for one, other in sums)
        assert capped <= Query("sum", cap).sensitivity(thetas)
        assert max(abs(one - other) for one, other in sums) == sum(thetas)


def test_a_pair_of_places_moves_two_bins_and_overlapping_policies_of_pairs_no_more() -> None:
    for pairs in (between(list(ROOMS)), [("bath", "bed"), ("bed", "hall")]):
        moved = max(sum((room == one) != (room == other) for room in ROOMS) for one, other in pairs)
        both = max(
            sum((room == one) != (room == other) for room in ROOMS)
            for one, other in product(ROOMS, repeat=2)
        )
        theta = int(threshold(pairs))
        histogram = Query("histogram", 2)
        assert histogram.sensitivity([theta]) == moved == 2
        assert histogram.sensitivity([theta, theta]) == both == 2


def test_a_pair_of_sets_flips_as_many_bins_as_theta_says() -> None:
    random = Random(2)
    sets: list[Value] = [
        frozenset(room for room, inside in zip(ROOMS, bits, strict=True) if inside)
        for bits in product((0, 1), repeat=3)
    ]
    for _ in range(60):
        pairs = random_pairs(random, random.sample(sets, 4))
        flips = [sum((room in one) != (room in other) for room in ROOMS) for one, other in pairs]  # type: ignore[operator]
        touched = tuple(
            room
            for room in ROOMS
            if len({room in value for pair in pairs for value in pair}) == 2  # type: ignore[operator]
        )
        assert set(touched) == flipped(pairs)
        query = Query("multi_histogram", 3, ROOMS)
        assert query.sensitivity([int(threshold(pairs))], [touched]) == max(flips)


def test_steps_lead_from_any_value_to_any_other_one() -> None:
    """A walk that moves by theta at most, towards the other value, takes so many steps."""
    random = Random(3)
    for _ in range(200):
        values = numbers(*random.sample(range(20), random.randrange(2, 6)))
        pairs = random_pairs(random, values)
        theta = threshold(pairs)
        named = sorted({value for pair in pairs for value in pair if isinstance(value, Fraction)})
        walked, place = 0, named[0]
        while place < named[-1]:
            place, walked = min(place + theta, named[-1]), walked + 1
        assert steps(pairs) == walked
        assert steps(between(values)) == 1


def test_sets_that_no_pairs_link_are_told_apart_by_the_steps_as_well() -> None:
    """A policy is about all names in which they differ, also those that no pair changes."""
    pairs: list[Pair] = [
        (frozenset({"bath"}), frozenset({"bath", "bed"})),
        (frozenset({"hall"}), frozenset({"hall", "sauna"})),
    ]
    assert flipped(pairs) == {"bath", "bed", "hall", "sauna"}
    assert threshold(pairs) == 1
    assert steps(pairs) == 4


def test_no_chain_of_pairs_is_shorter_than_the_steps() -> None:
    chain: list[Pair] = [(Fraction(0), Fraction(1)), (Fraction(1), Fraction(6))]
    assert (steps(chain), len(chain)) == (2, 2)
    long: list[Pair] = [(Fraction(one), Fraction(one + 1)) for one in range(5)]
    assert steps(long) == len(long) == 5
    assert steps([("bath", "bed"), ("bed", "hall")]) == 1


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        (Fraction(-1), Fraction(3), 4),
        ("bath", "bath", 0),
        ("bath", "bed", 1),
        (frozenset({"bath", "bed"}), frozenset({"bed", "hall"}), 2),
    ],
)
def test_distances_are_those_of_what_is_published(one: Value, other: Value, apart: int) -> None:
    assert distance(one, other) == distance(other, one) == apart
