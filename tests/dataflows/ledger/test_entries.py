"""Entries of the ledger come back as they were written, and only a pipeline's own are its own."""

import orjson
import pytest

from dataflows.ledger.entries import (
    PipelineEntry,
    StreamEntry,
    is_stream_of,
    ledger_key,
    read_entry,
    stream_entry,
)
from operators.mechanism import AT_THE_END, Guarantee
from operators.registry import KINDS

PAPER = KINDS["paper_crr"].examples()[0].mechanism.guarantees()
GUARANTEES = KINDS["crr"].examples()[0].mechanism.guarantees()


@pytest.mark.parametrize("guarantees", [GUARANTEES, PAPER], ids=["sound", "unsound"])
def test_a_pipeline_comes_back_with_its_guarantees_word_for_word(
    guarantees: tuple[Guarantee, ...],
) -> None:
    entry = PipelineEntry(
        "zones", "vitals", "topic-id", "vitals.out", "sink-id", "0123", guarantees, 4.0
    )
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
        b'{"format": 1}',
        b'{"format": 1, "kind": "stream"}',
        b'{"format": 1, "kind": "pipeline"}',
        b'{"format": 1, "kind": "pipeline", "guarantees": [{}]}',
    ],
)
def test_what_is_no_entry_is_passed_over(value: bytes | None) -> None:
    assert read_entry(value) is None


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
