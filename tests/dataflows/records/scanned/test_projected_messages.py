"""Compiled code reads Protocol Buffers as their library does, or leaves it to that."""

import math
from functools import cache
from random import Random
from typing import Any

import pytest

from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.json_fields import FieldTimestamp
from fugu.dataflows.records.payloads import Payloads
from fugu.dataflows.records.registered import Registered
from tests.dataflows.records.scanned.test_projection import NOTES, both, damaged, told
from tests.dataflows.records.test_protobuf import PREFIX, OneSchema, message, schema_of

COMPILED = [
    *("hearts[0].zone", "hearts[2].note", "zone", "steps", "floors", "note", "meters"),
    "at.seconds",
]
NUMBERS = [0.0, -0.0, 71.5, -3.25, 1e-5, 1e15, 1 / 3, math.nan]


@cache
def codec_of(name: str) -> Codec:
    names = [name, "at"] if not name.startswith("at") else [name]
    payloads = Payloads([name], null="as_none")
    timestamp = FieldTimestamp("at", 1) if "at" in names else None
    wire = Registered("protobuf", OneSchema(), names)
    wire._known[7] = schema_of(names)
    return Codec(payloads, 1_000, timestamp, exact=(name,), wire=wire)


def part(random: Random) -> bytes:
    """Some fields of a record, in an order of their own."""
    fields: dict[str, Any] = {
        "at": {"seconds": random.choice([7, -1, 2**62]), "nanos": random.randrange(-5, 10**9)},
        "hearts": [
            {"zone": random.choice(NOTES), "note": random.choice(NOTES)}
            for _ in range(random.randrange(4))
        ],
        "zone": random.choice([0, 1, 2, 9, -1]),
        "steps": random.choice([0, 5, -(2**63), 2**63 - 1]),
        "floors": random.choice([0, 3]),
        "tags": {random.choice(NOTES): 1},
        "note": random.choice(NOTES),
        random.choice(["meters", "feet"]): random.choice(NUMBERS),
        "raw": b"\xff",
        "ids": [1, 2**64 - 1],
        "counts": {1: 2},
    }
    kept = {name: one for name, one in fields.items() if random.random() < 0.7}
    return message("vitals.Reading", **kept)


UNKNOWN = [b"\xa0\x06\x01", b"\xa2\x06\x01x", b"\x58\x07", b"\xa3\x06", b"\x20\x85\x80\x80\0"]
"""Fields of no name, one that is not packed, a group, and a number with zeros too many."""


def reading(random: Random) -> bytes:
    """A record; some of them have fields twice, or fields that nobody knows."""
    parts = [part(random) for _ in range(random.choice([1, 1, 1, 2]))]
    if random.random() < 0.2:
        parts.append(random.choice(UNKNOWN))
    places = random.choice([b"\0"] * 8 + [b"\x02\0", b"\x02\x02"])
    return PREFIX + places + b"".join(parts)


def look_at_projected_messages(count: int) -> None:
    """Whole and damaged records are decoded alike, whichever way they come."""
    random = Random(7)
    for round_ in range(max(1, count // 1_000)):
        name = COMPILED[round_ % len(COMPILED)]
        whole = [reading(random) for _ in range(500)]
        cut = [PREFIX + damaged(random, one[5:] + b"\0") for one in whole]
        columns, lists = both(codec_of(name), [*whole, *cut])
        assert told(columns) == told(lists), name


@pytest.mark.slow
def test_columns_of_messages_are_decoded_as_lists_are() -> None:
    look_at_projected_messages(len(COMPILED) * 1_000)


@pytest.mark.parametrize("name", COMPILED)
def test_many_records_are_read_by_compiled_code(name: str) -> None:
    random, wire = Random(1), codec_of(name).wire
    assert wire is not None
    found = wire.projected(OptionalByteColumn.of([reading(random) for _ in range(300)]))
    assert found.sure.sum() >= 3


@pytest.mark.parametrize("name", ["feet", "raw", "ids[0]", "tags.a", "hearts", "hearts[0]"])
def test_what_compiled_code_does_not_write_is_read_by_the_library(name: str) -> None:
    assert schema_of([name]).program is None


def test_fields_that_are_left_out_have_their_defaults_in_columns_too() -> None:
    names = ["zone", "steps", "note"]
    wire = Registered("protobuf", OneSchema(), names)
    wire._known[7] = schema_of(names)
    found = wire.projected(OptionalByteColumn.of([PREFIX + b"\0"]))
    assert list(found.records) == [b'{"zone":"ZONE_UNKNOWN","steps":0,"note":""}']
