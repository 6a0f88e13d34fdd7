"""Figures tell, by their digests alone, which changes of policies they were made with."""

from collections.abc import Callable
from contextlib import suppress
from random import Random

import pytest

from fugu.operators.swellfish.changes import Change
from fugu.operators.swellfish.policy import Collection
from fugu.operators.swellfish.relevance import Query
from fugu.operators.swellfish.strategy import first_digest, next_digest
from fugu.operators.swellfish.timeline import Known, Policies, Unexplained, Written, explained
from tests.operators.swellfish.zones import HOURLY, once

TICKS = 60
HOME = Policies(
    HOURLY, Query("sum", 1000), (Collection("home", (once("trip", 3, 9), once("tea", 40, 44))),)
)
Figures = list[tuple[int, bytes]]


def random_changes(random: Random, number: int) -> list[bytes]:
    """Some of which are refused, because the policy is not there."""
    changes = []
    for _ in range(number):
        name, start = random.choice(["trip", "tea", "sauna"]), random.randrange(TICKS)
        added = once(name, start, start + random.randrange(9)) if random.random() < 0.6 else None
        removes = None if added is not None and random.random() < 0.5 else name
        change = Change("home", effective=random.randrange(TICKS), removes=removes, adds=added)
        changes.append(change.to_bytes())
    return changes


def pipeline(changes: list[bytes], known_at: list[int]) -> tuple[Figures, list[bytes]]:
    """Return figures with the digests of a pipeline that knows each change from a tick on, and what
    it knows at each."""
    digest, content, following = first_digest(HOME.digest()), b"", 0
    figures, contents = [], []
    for tick in range(TICKS):
        while following < len(changes) and known_at[following] <= tick:
            digest = next_digest(digest, changes[following], tick)
            with suppress(ValueError):
                content = HOME.changed(content, changes[following], tick)
            following += 1
        figures.append((tick, digest))
        contents.append(content)
    return figures, contents


def known(changes: list[bytes], figures: Figures) -> list[Known]:
    return list(explained(HOME, [Written(change) for change in changes], figures))


@pytest.mark.parametrize("seed", range(10))
def test_history_of_a_pipeline_is_found_from_its_digests(seed: int) -> None:
    random = Random(seed)
    changes = random_changes(random, 12)
    known_at = sorted(random.randrange(TICKS) for _ in changes)
    figures, contents = pipeline(changes, known_at)
    found = known(changes, figures)
    assert [one for step in found[-1:] for one in step.applied] == list(enumerate(known_at))
    for step in found:
        assert step.told == sum(at <= step.tick for at in known_at)
        assert step.changes == contents[step.tick]


def left_out(changes: list[bytes], known_at: list[int]) -> Figures:
    return pipeline(changes[:2] + changes[3:], known_at[:2] + known_at[3:])[0]


def in_another_order(changes: list[bytes], known_at: list[int]) -> Figures:
    return pipeline([*changes[:2], changes[3], changes[2], *changes[4:]], known_at)[0]


def said_to_be_known_before(changes: list[bytes], known_at: list[int]) -> Figures:
    """Lie about the tick: the digest of an earlier one, on a later figure."""
    figures, _ = pipeline(changes, known_at)
    return [
        (tick, digest) for (tick, _), (_, digest) in zip(figures[2:], figures[:-2], strict=True)
    ]


def from_another_document(changes: list[bytes], known_at: list[int]) -> Figures:
    return [(0, first_digest(bytes(32)))]


@pytest.mark.parametrize(
    "dishonest", [left_out, in_another_order, said_to_be_known_before, from_another_document]
)
def test_pipeline_that_knew_other_policies_is_found_out(
    dishonest: Callable[[list[bytes], list[int]], Figures],
) -> None:
    changes = random_changes(Random(1), 6)
    with pytest.raises(Unexplained, match="made with other policies"):
        known(changes, dishonest(changes, [5, 12, 20, 21, 30, 40]))


def test_change_that_came_late_is_known_late() -> None:
    [change] = random_changes(Random(2), 1)
    assert [step.tick for step in known([change], pipeline([change], [37])[0])] == [0, 37]


def test_change_with_a_signature_that_only_the_pipeline_can_check_may_have_been_refused() -> None:
    taken, forged, later = random_changes(Random(3), 3)
    figures, _ = pipeline([taken, later], [5, 20])
    written = [Written(taken), Written(forged, certain=False), Written(later)]
    [*_, last] = explained(HOME, written, figures)
    assert [number for number, _ in last.applied] == [0, 2]
