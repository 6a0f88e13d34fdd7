"""Questions about ticks: the same answers in any order, after any restart, and after moves."""

from dataclasses import replace
from random import Random

import pytest

from fugu.operators.swellfish.changes import Change
from fugu.operators.swellfish.policy import (
    SINCE_EVER,
    Collection,
    Occurrence,
    Policy,
    affected_ticks,
    first_free,
    open_spans,
)
from fugu.operators.swellfish.relevance import Query
from fugu.operators.swellfish.timeline import Policies
from tests.operators.swellfish.lifecycle import occurrences
from tests.operators.swellfish.test_lifecycle import random_policy
from tests.operators.swellfish.zones import HOURLY, once

TEA, SHOWER = once("tea", 2, 3, 1, 10), once("shower", 3, 6, 2, 22)
HOME = Policies(HOURLY, Query("sum", 100), (Collection("home", (TEA, SHOWER)),))


def random_collection(random: Random, name: str) -> Collection:
    policies = (random_policy(random, f"p{number}", 10) for number in range(random.randrange(4)))
    return Collection(name, tuple(policies))


def random_timeline(random: Random) -> Policies:
    collections = (random_collection(random, name) for name in ("home", "cabin", "office"))
    return Policies(HOURLY, Query("sum", 20), tuple(collections))


def test_example_of_the_paper() -> None:
    relevances = [HOME.relevance(tick, b"") for tick in range(1, 8)]
    assert [relevance.sensitivity for relevance in relevances] == [0, 10, 32, 22, 22, 22, 0]
    open_intervals = [len(relevance.intervals) for relevance in relevances]
    assert open_intervals == [0, 1, 2, 1, 1, 1, 0]
    assert [interval.affected for interval in relevances[2].intervals] == [2, 3]


def test_interval_of_several_collections_counts_once_with_the_largest_delta() -> None:
    both = Collection("both", (TEA, SHOWER))
    short = Collection("short", (replace(SHOWER, length=1, thresholds=(30,)),))
    timeline = Policies(HOURLY, Query("sum", 100), (short, both))
    relevance = timeline.relevance(5, b"")
    assert [(one.start, one.end, one.affected) for one in relevance.intervals] == [(3, 6, 3)]
    assert relevance.sensitivity == 30


def test_answers_are_those_of_the_definition() -> None:
    random = Random(8)
    for _ in range(40):
        timeline = random_timeline(random)
        present = [
            [one for policy in collection.policies for one in occurrences(policy)]
            for collection in timeline.collections
        ]
        for tick in range(-20, 120):
            opened = [[one for one in all_ if one.start <= tick <= one.end] for all_ in present]
            sums = [sum(one.change_at(tick) for one in some) for some in opened]
            delta: dict[tuple[int, int], int] = {}
            for some, all_ in zip(opened, present, strict=True):
                for one in some:
                    span = one.start, one.end
                    delta[span] = max(delta.get(span, 0), affected_ticks(*span, all_))
            relevance = timeline.relevance(tick, b"")
            found = [(one.start, one.end, one.affected) for one in relevance.intervals]
            assert found == [(*span, affected) for span, affected in sorted(delta.items())]
            assert relevance.sensitivity == min(20, max(sums))


def test_order_of_questions_does_not_matter() -> None:
    random = Random(9)
    for _ in range(10):
        timeline = random_timeline(random)
        histories = [b""]
        for number in range(6):
            change = Change("home", 0, None, random_policy(random, f"new {number}", number))
            histories.append(timeline.changed(histories[-1], change.to_bytes(), number))
        questions = [(random.randrange(-50, 300), random.choice(histories)) for _ in range(150)]
        for tick, changes in questions:
            fresh = replace(timeline)
            assert timeline.relevance(tick, changes) == fresh.relevance(tick, changes)


def test_nothing_is_relevant_without_policies() -> None:
    relevance = Policies(HOURLY, Query("count", 1), ()).relevance(5, b"")
    assert (relevance.sensitivity, relevance.intervals) == (0, ())


def test_largest_sensitivity_is_that_of_a_whole_contribution() -> None:
    assert HOME.largest_sensitivity == 100


def test_digest_identifies_policies_query_and_ticks() -> None:
    others = [
        replace(HOME, tick_milliseconds=HOURLY + 1),
        replace(HOME, query=Query("sum", 101)),
        replace(HOME, query=Query("count", 1)),
        replace(HOME, notice=1),
        replace(HOME, collections=(Collection("home", (TEA, SHOWER), owned=True),)),
        replace(HOME, collections=(Collection("house", (TEA, SHOWER)),)),
        replace(HOME, collections=(Collection("home", (TEA,)),)),
        replace(HOME, collections=(Collection("home", (TEA, replace(SHOWER, length=3))),)),
    ]
    digests = {timeline.digest() for timeline in [HOME, *others]}
    assert len(digests) == 1 + len(others)
    assert {len(digest) for digest in digests} == {32}
    assert replace(HOME).digest() == HOME.digest()


def protecting(policies: tuple[Policy, ...], first: int, until: int) -> list[Occurrence]:
    """Return those that begin at tick `first` or later and before `until`."""
    every = [one for policy in policies for one in occurrences(policy)]
    return [one for one in every if first <= one.start < until]


def protects_from(timeline: Policies, left: list[str], joined: str, tick: int) -> int | None:
    """Return the first protected tick of a person who moves from `left` to `joined` at `tick`."""
    standings = timeline.standings(b"")
    come_from = [one for name in left for one in standings[name].admitted]
    free = first_free(tick, open_spans(come_from, tick, HOURLY))
    spans = [one.next_span(free, HOURLY) for one in standings[joined].admitted]
    return min((span[0] for span in spans if span is not None), default=None)


def test_who_moves_between_collections_needs_no_more_than_the_collections_do() -> None:
    random, protected = Random(10), 0
    for _ in range(150):
        timeline = random_timeline(random)
        mine: list[Occurrence] = []
        since: int | None = SINCE_EVER
        names = [collection.id for collection in timeline.collections]
        moves = sorted(random.sample(range(40), 2))
        for place, until in enumerate([*moves, 900]):
            policies = timeline.collections[place].policies
            mine += [] if since is None else protecting(policies, since, until)
            if place < len(moves):
                since = protects_from(timeline, names[: place + 1], names[place + 1], until)
                over = max([one.end for one in mine if one.end >= until], default=until - 1)
                free = protecting(timeline.collections[place + 1].policies, over + 1, 900)
                earliest = min((one.start for one in free), default=900)
                assert since is None or since >= earliest
                assert place > 0 or (since or 900) == earliest
        for tick in range(100):
            relevance = timeline.relevance(tick, b"")
            delta = {(one.start, one.end): one.affected for one in relevance.intervals}
            opened = [one for one in mine if one.start <= tick <= one.end]
            changes = [one.change_at(tick) for one in opened]
            assert timeline.query.sensitivity(changes) <= relevance.sensitivity
            for one in opened:
                span = one.start, one.end
                assert affected_ticks(*span, mine) <= delta[span]
                protected += 1
    assert protected > 1000


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("tick_milliseconds", lambda: replace(HOME, tick_milliseconds=0)),
        ("collections", lambda: replace(HOME, collections=HOME.collections * 2)),
        (
            "policy tea: activities",
            lambda: Policies(
                HOURLY,
                Query("multi_histogram", 1, ("sauna",)),
                (Collection("home", (replace(TEA, activities=("yoga",)),)),),
            ),
        ),
    ],
)
def test_configuration_names_the_field_that_is_wrong(field: str, wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(ValueError, match=f"^{field}: "):
        wrong()
