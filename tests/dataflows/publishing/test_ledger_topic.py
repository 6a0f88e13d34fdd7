"""Entries of the ledger come back as they were written, and only a pipeline's own are its own."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson
import pytest

from fugu.dataflows.pipeline.joint import Told
from fugu.dataflows.pipeline.source_budget import sums
from fugu.dataflows.pipeline.source_section import DeclaredBudget
from fugu.dataflows.publishing.ledger_topic import (
    PIPELINE_FORMAT,
    STREAM_FORMAT,
    WITHDRAWN,
    PipelineEntry,
    StreamEntry,
    UnreadableEntry,
    damaged_entry,
    furthest,
    is_stream_of,
    ledger_key,
    read_entry,
    stream_entry,
)
from fugu.dataflows.publishing.registration import continued, promises_of
from fugu.operators.guarantee import Guarantee, StatedLoss
from fugu.operators.mechanism import AT_THE_END
from tests.conformance.kinds import KINDS

PAPER = KINDS["paper_crr"].examples()[0].mechanism.guarantees()
GUARANTEES = KINDS["crr"].examples()[0].mechanism.guarantees()
LAPLACE = KINDS["laplace"].examples()[0].mechanism.guarantees()
UNIFORM = KINDS["uniform"].examples()[0].mechanism.guarantees()
NOISE = KINDS["real_time"].examples()[0].mechanism.guarantees()


def entry_of(guarantees: tuple[Guarantee, ...], budget: DeclaredBudget | None) -> PipelineEntry:
    """A pipeline that has declared a budget."""
    return PipelineEntry(
        "zones", "vitals", "topic-id", "vitals.out", "sink-id", "0123", guarantees, budget
    )


@pytest.mark.parametrize("budget", [None, DeclaredBudget(4.0), DeclaredBudget(4.0, 1e-6)])
def test_a_declared_budget_comes_back(budget: DeclaredBudget | None) -> None:
    entry = entry_of(GUARANTEES, budget)
    assert read_entry(entry.value()) == entry


def test_what_a_pipeline_tells_beside_others_comes_back() -> None:
    entry = entry_of(GUARANTEES, None)
    rows, window = ((0.9, 0.1), (0.4, 0.6)), (8, 2.0)
    told = Told("zones", 0.5, None, window, 60_000, rows, None, (("counts", "parallel"),))
    for one in (told, replace(told, backward=rows, whole_life=4.0, nats=None, window=None)):
        assert read_entry(replace(entry, told=one).value()) == replace(entry, told=one)


def test_what_was_released_before_may_have_been_repeated_unless_the_ledger_says_it_was_not() -> (
    None
):
    told = Told("zones", 0.5, beside=(("counts", "parallel"),), memoryless=True)
    entry = replace(entry_of(GUARANTEES, None), told=told)
    not_said = replace(told, memoryless=False)
    assert continued(entry, entry).told == told
    for known in (None, not_said):
        assert continued(entry, replace(entry, told=known)).told == not_said


def test_what_was_told_before_stays_told() -> None:
    entry = replace(entry_of(GUARANTEES, None), guarantee_id="4567")
    before = Told("zones", 2.0, 5.0, (8, 2.0), beside=(("counts", "parallel"),))
    now = replace(before, nats=0.5, whole_life=None, window=(4, 1.0))
    joined = continued(replace(entry, told=now), replace(entry, told=before)).told
    assert joined == replace(now, nats=2.0, window=None)


@pytest.mark.parametrize(
    "damage", [{"nats": -1.0}, {"beside": [["counts", "both"]]}, {"window": 8}]
)
def test_a_damaged_figure_of_one_value_is_no_figure(damage: dict[str, object]) -> None:
    told = Told("zones", 0.5, beside=(("counts", "parallel"),))
    content = orjson.loads(replace(entry_of(GUARANTEES, None), told=told).value())
    content["told"] |= damage
    assert isinstance(read_entry(orjson.dumps(content)), UnreadableEntry)


@pytest.mark.parametrize(
    "guarantees", [GUARANTEES, PAPER, NOISE], ids=["sound", "unsound", "noise"]
)
def test_a_pipeline_comes_back_with_its_guarantees_word_for_word(
    guarantees: tuple[Guarantee, ...],
) -> None:
    entry = entry_of(guarantees, DeclaredBudget(4.0, 1e-6))
    assert read_entry(entry.value()) == entry
    assert orjson.loads(entry.key()) == ["zones", "topic-id"]


@pytest.mark.parametrize(("level", "tenths", "exhausted"), [(3, 3, False), (AT_THE_END, 10, True)])
def test_a_stream_comes_back(level: int, tenths: int, exhausted: bool) -> None:
    value = stream_entry("zones", "vitals", "topic-id", "b7ef", level)
    assert read_entry(value) == StreamEntry(
        "zones", "vitals", "topic-id", "b7ef", tenths, exhausted
    )


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"{",
        b"[]",
        b'{"format": 2, "kind": "stream"}',
        b'{"format": 4, "kind": "stream"}',
        b'{"format": "2", "kind": "pipeline"}',
        b'{"format": 4, "kind": "pipeline"}',
        b'{"format": 2, "kind": "pipeline", "guarantees": [[]]}',
        b'{"format": 1}',
        b'{"format": 1, "kind": "stream"}',
        b'{"format": 1, "kind": "pipeline"}',
        b'{"format": 1, "kind": "pipeline", "guarantees": [{}]}',
    ],
)
def test_what_is_no_entry_is_passed_over(value: bytes | None) -> None:
    assert read_entry(value) is None


def test_an_entry_has_the_type_of_its_loss_and_all_sentences() -> None:
    guarantee = replace(GUARANTEES[0], loss=StatedLoss(1.0, 1e-6))
    entry = PipelineEntry("p", "s", "s-id", "t", "t-id", "0123", (guarantee,), None)
    content = orjson.loads(entry.value())
    [told] = content["guarantees"]
    assert content["format"] == PIPELINE_FORMAT
    assert told["loss"] == {"type": "StatedLoss", "epsilon": 1.0, "delta": 1e-6}
    assert told["trust"]["sentence"] == str(guarantee.trust)


@pytest.mark.parametrize("more", [{"later": 1}, {"trust": None}, {"neighbours": {}}])
def test_a_promise_that_cannot_be_read_is_named_and_never_passed_over(more: dict[str, Any]) -> None:
    content = orjson.loads(entry_of(GUARANTEES, None).value())
    content["guarantees"][0] |= more
    assert read_entry(orjson.dumps(content)) == UnreadableEntry("zones", "vitals", "topic-id")


@pytest.mark.parametrize("number", [1, 5, PIPELINE_FORMAT + 1])
def test_what_another_version_entered_is_named_with_its_format(number: int) -> None:
    names = {"pipeline": "zones", "source": "vitals", "source_identity": "topic-id"}
    for kind in ("pipeline", "stream"):
        if (kind, number) == ("stream", STREAM_FORMAT):
            continue
        content = {"format": number, "kind": kind, **names, "later": "something else"}
        read = read_entry(orjson.dumps(content))
        assert read == UnreadableEntry("zones", "vitals", "topic-id", number)
        assert f"The entry of zones has format {number}: another version of Fugu" in read.why


def fields_of(content: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the way to everything in a document."""
    inside: dict[Any, Any] = content if isinstance(content, dict) else {}
    if isinstance(content, list):
        inside = dict(enumerate(content))
    for name, one in inside.items():
        yield (*path, name)
        yield from fields_of(one, (*path, name))


@pytest.mark.parametrize(
    "guarantees", [LAPLACE, UNIFORM, NOISE], ids=["laplace", "uniform", "noise"]
)
@pytest.mark.parametrize(
    "damage", [None, -1, -0.5, 0, 1e308, 2**63, True, "x", "", [], {}, [[]]], ids=repr
)
def test_damage_is_named_or_counted_and_never_ends_a_sum(
    guarantees: tuple[Guarantee, ...], damage: Any
) -> None:
    """Whatever one field of an entry becomes, sums with it have a figure or a reason."""
    entry = entry_of(guarantees, DeclaredBudget(4.0, 1e-6))
    own = replace(entry_of(guarantees, None), pipeline="own")
    for path in fields_of(orjson.loads(entry.value())):
        read = read_entry(damaged(entry.value(), path, damage))
        if not isinstance(read, PipelineEntry):
            continue
        assert isinstance(continued(own, read), PipelineEntry)
        for together in sums(promises_of([read, own])):
            assert together.why_not or together.in_words
            figure = together.figure
            assert figure is None or figure.epsilon >= 0


def damaged(value: bytes, path: tuple[str | int, ...], damage: Any) -> bytes:
    content = orjson.loads(value)
    place = content
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = damage
    return orjson.dumps(content)


@pytest.mark.parametrize(
    "name", ["epsilon", "delta", "finite_precision_delta", "delta_per_release"]
)
@pytest.mark.parametrize("number", [-1e-9, -5, "1", True])
def test_no_figure_is_read_that_would_lower_a_sum(name: str, number: Any) -> None:
    value = damaged(entry_of(LAPLACE, None).value(), ("guarantees", 0, name), number)
    assert read_entry(value) == UnreadableEntry("zones", "vitals", "topic-id")


def test_a_pipeline_that_promises_nothing_cannot_be_read() -> None:
    value = damaged(entry_of(LAPLACE, None).value(), ("guarantees",), [])
    assert read_entry(value) == UnreadableEntry("zones", "vitals", "topic-id")


def test_an_entry_that_is_damaged_altogether_is_named_by_its_key() -> None:
    key = entry_of(LAPLACE, None).key()
    assert damaged_entry(key, b"{") == UnreadableEntry("zones", "", "topic-id")
    assert damaged_entry(key, WITHDRAWN) is None
    assert damaged_entry(key, None) is None
    assert damaged_entry(ledger_key("zones", 0, "b7ef"), b"{") is None


def test_an_unknown_type_of_loss_cannot_be_read() -> None:
    loss = {"type": "LaterLoss", "atoms": [1, 2]}
    value = damaged(entry_of(GUARANTEES, None).value(), ("guarantees", 0, "loss"), loss)
    assert read_entry(value) == UnreadableEntry("zones", "vitals", "topic-id")


def test_a_stream_belongs_to_one_pipeline_and_one_partition() -> None:
    key = ledger_key("zones", 1, "b7ef")
    assert is_stream_of("zones", 1, key)
    others = [
        ledger_key("zones", 11, "b7ef"),
        ledger_key("zones-2", 1, "b7ef"),
        ledger_key("zone", 1, "b7ef"),
        b'["zones","topic-id"]',
        None,
    ]
    assert not any(is_stream_of("zones", 1, other) for other in others)


def test_a_stream_that_moved_is_listed_once_with_what_it_has_spent_most() -> None:
    """The ledger has a line from each partition in which it was."""
    moved = StreamEntry("p", "s", "id", "ada", 3, False)
    later, ended = replace(moved, tenths=7), replace(moved, tenths=7, exhausted=True)
    other = replace(moved, stream="bob")
    assert furthest([later, moved, other]) == [later, other]
    assert furthest([later, ended, moved]) == [ended]
