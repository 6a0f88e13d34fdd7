"""CloudEvents in both modes, changes of Debezium, and numbers that are written as text."""

import base64
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest

from fugu.dataflows.base.batches import Batch, Decoded, Header, Reason
from fugu.dataflows.pipeline.config import reading_digest
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.contributions import SetContributions
from fugu.dataflows.records.json_fields import LATEST_TIMESTAMP
from tests.dataflows.pipeline.pipeline_files import PIPELINE, configured, read, read_error

EVENTS = """value: data.zone
  format: cloudevents
  timestamp: {field: time, format: rfc3339}
  dedupe: {field: id}"""
ROWS = """value: after.zone
  format: debezium
  timestamp: {field: source.ts_ms, format: epoch-ms}"""
NUMBERS = """\
operator: {kind: laplace, lower: 0, upper: 100, unit: 0.01, epsilon: 1.0}
"""
ATTRIBUTES = {
    "specversion": "1.0",
    "type": "vitals.zone",
    "source": "/watches",
    "id": "e-1",
    "time": "2026-01-01T01:00:00.250+01:00",
    "subject": "canary",
}
TIME = 1_767_225_600_250
CANARY = b"canary"


def codec_of(directory: Path, source: str) -> Codec:
    return configured(directory, text=PIPELINE.replace("value: zone", source)).codec


def decoded(codec: Codec, *records: tuple[object, list[Header]]) -> Decoded:
    values = [
        one if isinstance(one, bytes) else None if one is None else orjson.dumps(one)
        for one, _ in records
    ]
    count = len(values)
    headers = [own for _, own in records]
    return codec.decode(Batch(0, range(count), [7] * count, [b"ann"] * count, values, headers))


def binary(**changes: bytes | None) -> list[Header]:
    told: dict[str, Any] = {name: value.encode() for name, value in ATTRIBUTES.items()}
    return [("content-type", b"application/json")] + [
        (f"ce_{name}", value) for name, value in (told | changes).items()
    ]


def refusals(read: Decoded) -> list[tuple[Reason, str]]:
    return list(zip(read.dead.reasons, read.dead.fields, strict=True))


def test_an_event_is_read_alike_in_both_modes(tmp_path: Path) -> None:
    codec = codec_of(tmp_path, EVENTS)
    data = {"zone": "light", "note": "canary"}
    found = decoded(codec, ({**ATTRIBUTES, "data": data}, []), (data, binary()))
    assert codec.reads_headers
    assert (found.values.tolist(), list(found.timestamps)) == ([1, 1], [TIME, TIME])
    assert found.events is not None
    assert found.events[0] == found.events[1]


def test_what_is_no_event_is_refused_by_the_name_of_a_field_only(tmp_path: Path) -> None:
    good: dict[str, Any] = {**ATTRIBUTES, "data": {"zone": "light"}}
    found = decoded(
        codec_of(tmp_path, EVENTS),
        ({"zone": "light"}, []),
        (good | {"specversion": "0.3"}, []),
        (good | {"time": "2026-01-01T01:00:00"}, []),
        (good | {"time": "2026-01-01T01:00:60Z"}, []),
        (good | {"data": "light"}, []),
        ({"zone": "light"}, binary(time=b"\xff")),
        ({"zone": "light"}, binary(canary=b"canary", id=None)),
        (b"canary", binary()),
        (b"[1]", binary()),
        ([good], []),
        (None, binary()),
    )
    assert refusals(found) == [
        (Reason.FIELD_MISSING, "specversion"),
        (Reason.OUTSIDE_DOMAIN, "specversion"),
        (Reason.WRONG_TYPE, "time"),
        (Reason.OUTSIDE_DOMAIN, "time"),
        (Reason.FIELD_MISSING, "data.zone"),
        (Reason.FIELD_MISSING, "time"),
        (Reason.FIELD_MISSING, "id"),
        (Reason.NOT_JSON, ""),
        (Reason.FIELD_MISSING, "data.zone"),
        (Reason.WRONG_TYPE, ""),
        (Reason.TOMBSTONE, ""),
    ]


def change(operation: str, before: object, after: object) -> dict[str, object]:
    row = {"op": operation, "before": before, "after": after, "source": {"ts_ms": TIME}}
    return {"ts_ms": 1, **row}


def test_what_has_nothing_to_release_has_its_time_all_the_same(tmp_path: Path) -> None:
    """Compare a change with a deletion: which other records are late may not depend on it."""
    rows = codec_of(tmp_path, ROWS)
    gone = decoded(rows, (change("d", {"zone": "rest"}, None), []), (change("x", None, {}), []))
    events = codec_of(tmp_path, EVENTS)
    other = decoded(events, ({**ATTRIBUTES, "specversion": "2.0", "data": {"zone": "rest"}}, []))
    assert list(gone.refused.timestamps) == [TIME, TIME]
    assert list(other.refused.timestamps) == [TIME]


def test_rows_are_read_after_a_change_and_never_before_it(tmp_path: Path) -> None:
    rest, light = {"zone": "rest"}, {"zone": "light"}
    found = decoded(
        codec_of(tmp_path, ROWS),
        (change("c", None, light), []),
        (change("r", None, rest), []),
        ({"schema": {"type": "struct"}, "payload": change("u", rest, light)}, []),
        (change("d", light, None), []),
        (None, []),
        ({"schema": {}, "payload": None}, []),
        (change("t", None, None), []),
        (change("u", light, {"note": "canary"}), []),
        (change("u", light, None), []),
        (change("z", light, light), []),
        (light, []),
    )
    assert (found.values.tolist(), list(found.timestamps)) == ([1, 0, 1], [TIME] * 3)
    assert refusals(found) == [
        *[(Reason.ROW_DELETED, "")] * 4,
        (Reason.FIELD_MISSING, "after.zone"),
        (Reason.WRONG_TYPE, "after"),
        (Reason.OUTSIDE_DOMAIN, "op"),
        (Reason.FIELD_MISSING, "op"),
    ]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (ROWS.replace("after.zone", "zone"), "value: zone: a change of Debezium has no zone that"),
        (ROWS.replace("after.zone", "before.zone"), "is not read; write after.zone"),
        (ROWS.replace("after.zone", "payload.after.zone"), "write after.zone"),
        (ROWS.replace("source.ts_ms", "updated"), "timestamp: updated: a change"),
        (EVENTS.replace("data.zone", "heart_zone"), "write data.heart_zone if it is in data"),
        (EVENTS.replace("field: id", "field: eventId"), "dedupe: eventId: no attribute"),
    ],
)
def test_a_field_that_no_record_of_the_format_holds_is_refused(
    source: str, told: str, tmp_path: Path
) -> None:
    assert told in read_error(tmp_path, PIPELINE.replace("value: zone", source))


def test_the_format_is_part_of_how_a_state_reads(tmp_path: Path) -> None:
    def digest(source: str) -> str:
        return reading_digest(read(tmp_path, PIPELINE.replace("value: zone", source)).pipeline)

    plain = "value: after.zone"
    assert len({digest(plain + more) for more in ("", "\n  format: debezium")}) == 2
    assert len({digest(plain + more) for more in ("", "\n  coerce: numbers")}) == 2
    assert len({digest(plain + more) for more in ("", "\n  format: json")}) == 1


def test_text_is_a_number_only_where_that_was_asked_for(tmp_path: Path) -> None:
    text = PIPELINE[: PIPELINE.index("operator:")] + NUMBERS + PIPELINE[PIPELINE.index("sink:") :]
    timed = "value: bpm\n  timestamp: {field: at, format: epoch-s}"
    strict = configure(read(tmp_path, text.replace("value: zone", timed))).codec
    lenient = text.replace("value: zone", timed + "\n  coerce: numbers")
    codec = configure(read(tmp_path, lenient)).codec
    records: list[tuple[object, list[Header]]] = [
        ({"bpm": "71.505", "at": "12"}, []),
        ({"bpm": 71.505, "at": 12}, []),
    ]
    assert decoded(codec, *records).values.tolist() == [7151, 7151]
    assert refusals(decoded(strict, *records)) == [(Reason.WRONG_TYPE, "bpm")]
    many = decoded(codec, *records * 20)
    assert (many.values.tolist(), set(many.timestamps)) == ([7151] * 40, {12_000})
    wrong = ["", " 1", "0x1", "1_0", "NaN", "Infinity", "1,5", "٣", "1" * 401, "1e999"]
    found = decoded(codec, *[({"bpm": one, "at": 1}, []) for one in wrong])
    assert {reason for reason, _ in refusals(found)} <= {Reason.WRONG_TYPE, Reason.NOT_FINITE}
    assert len(found.dead.offsets) == len(wrong)


INTEGERS = "operator: {kind: grr, alphabet: [0, 1, 2], epsilon: 1.0}\n"
BETWEEN = PIPELINE[: PIPELINE.index("operator:")], PIPELINE[PIPELINE.index("sink:") :]


def coercing(directory: Path, operator: str, unit: str, *, coerce: bool = True) -> Codec:
    source = f"value: x\n  timestamp: {{field: at, format: {unit}}}"
    text = operator.join(BETWEEN).replace("value: zone", source + "\n  coerce: numbers" * coerce)
    return configure(read(directory, text)).codec


@pytest.mark.parametrize("written", [b"1", b"1.0", b"10e-1", b'"1"', b'"1.0"', b'"1e0"'])
def test_an_alphabet_of_integers_takes_whole_numbers_however_they_are_written(
    written: bytes, tmp_path: Path
) -> None:
    content = b'{"x": %b, "at": 1}' % written
    codec = coercing(tmp_path, INTEGERS, "epoch-ms")
    assert decoded(codec, (content, [])).values.tolist() == [1]
    assert decoded(codec, *[(content, [])] * 20).values.tolist() == [1] * 20
    strict = decoded(coercing(tmp_path, INTEGERS, "epoch-ms", coerce=False), (content, []))
    assert refusals(strict) == ([] if written == b"1" else [(Reason.WRONG_TYPE, "x")])


def test_sets_of_integers_take_them_too() -> None:
    codec = Codec(SetContributions(Alphabet("x", [0, 1, 2])), 1_000, numbers=("x",))
    found = decoded(codec, ({"x": [1.0, "2", 0]}, []), ({"x": [1.5]}, []), ({"x": [["1"]]}, []))
    assert found.values.tolist() == [[0, 7]]
    assert refusals(found) == [(Reason.WRONG_TYPE, "x")] * 2


@pytest.mark.parametrize(
    ("written", "refusal"),
    [
        (b"1.5", Reason.WRONG_TYPE),
        (b"-0.5", Reason.WRONG_TYPE),
        (b"true", Reason.WRONG_TYPE),
        (b"9007199254740993.0", Reason.OUTSIDE_DOMAIN),
        (b"1e300", Reason.WRONG_TYPE),
        (b"1e400", Reason.NOT_FINITE),
        (b"3.0", Reason.OUTSIDE_DOMAIN),
    ],
)
def test_other_numbers_are_no_symbols(written: bytes, refusal: Reason, tmp_path: Path) -> None:
    found = decoded(coercing(tmp_path, INTEGERS, "epoch-ms"), (b'{"x": %b, "at": 1}' % written, []))
    assert refusals(found) == [(refusal, "x")]


@pytest.mark.parametrize(
    ("unit", "written", "milliseconds"),
    [
        ("epoch-s", b"1767225600.25", TIME),
        ("epoch-s", b'"1767225600.25"', TIME),
        ("epoch-s", b"1767225600.001", 1_767_225_600_001),
        ("epoch-s", b"1767225600.0019999", 1_767_225_600_001),
        ("epoch-s", b"1.76722560025e9", TIME),
        ("epoch-s", b"1767225600.0", 1_767_225_600_000),
        ("epoch-s", b"0.0005", 0),
        ("epoch-s", b"253402300799.999", LATEST_TIMESTAMP),
        ("epoch-ms", b"1767225600250.0", TIME),
        ("epoch-ms", b"1767225600250.9", TIME),
    ],
)
def test_a_time_may_have_a_fraction_and_parts_of_milliseconds_are_cut_off(
    unit: str, written: bytes, milliseconds: int, tmp_path: Path
) -> None:
    content = b'{"x": 1, "at": %b}' % written
    codec = coercing(tmp_path, INTEGERS, unit)
    assert list(decoded(codec, (content, [])).timestamps) == [milliseconds]
    assert list(decoded(codec, *[(content, [])] * 20).timestamps) == [milliseconds] * 20
    strict = decoded(coercing(tmp_path, INTEGERS, unit, coerce=False), (content, []))
    assert refusals(strict) == [(Reason.WRONG_TYPE, "at")]


@pytest.mark.parametrize(
    ("written", "refusal"),
    [
        (b"-0.001", Reason.OUTSIDE_DOMAIN),
        (b"253402300800.0", Reason.OUTSIDE_DOMAIN),
        (b"1e300", Reason.OUTSIDE_DOMAIN),
        (b'"-1e999"', Reason.NOT_FINITE),
        (b"1e999", Reason.NOT_FINITE),
        (b"[1.0]", Reason.WRONG_TYPE),
    ],
)
def test_a_fraction_that_is_no_time_is_refused(
    written: bytes, refusal: Reason, tmp_path: Path
) -> None:
    found = decoded(coercing(tmp_path, INTEGERS, "epoch-s"), (b'{"x": 1, "at": %b}' % written, []))
    assert refusals(found) == [(refusal, "at")]


UNSENT = "__debezium_unavailable_value"


@pytest.mark.parametrize(
    "value",
    [
        UNSENT,
        base64.b64encode(UNSENT.encode()).decode(),
        list(UNSENT.encode()),
        [UNSENT],
        {UNSENT: UNSENT},
        {"a": [{"b": UNSENT}]},
    ],
)
@pytest.mark.parametrize(
    "operator",
    [
        "operator: {kind: grr, alphabet: [rest, light], other: rest, epsilon: 1.0}\n",
        "operator: {kind: threshold_perturbation, window: 5, threshold: 3}\n",
    ],
)
def test_a_value_that_debezium_did_not_send_is_none(
    value: object, operator: str, tmp_path: Path
) -> None:
    source = ROWS.replace("after.zone", "after.x") + "\n  key: {field: after.user}"
    text = operator.join(BETWEEN).replace("value: zone", source)
    codec = configure(read(tmp_path, text)).codec
    row = {"x": "rest", "user": "ann", "note": value}
    found = decoded(
        codec,
        (change("u", None, row), []),
        (change("u", None, row | {"x": value}), []),
        (change("u", None, row | {"user": value}), []),
    )
    assert (len(found.values), list(found.keys)) == (1, [b"ann"])
    assert refusals(found) == [
        (Reason.UNAVAILABLE_VALUE, "after.x"),
        (Reason.UNAVAILABLE_VALUE, "after.user"),
    ]
    assert (list(found.refused.keys), list(found.refused.timestamps)) == ([b"ann"], [TIME])


def damaged(random: Random, content: bytes) -> bytes:
    for _ in range(random.randrange(1, 4)):
        at = random.randrange(len(content) + 1)
        kind = random.randrange(4)
        if kind == 0:
            content = content[:at] + bytes([random.randrange(256)]) + content[at + 1 :]
        elif kind == 1:
            content = content[:at] + content[at + random.randrange(1, 9) :]
        elif kind == 2:
            content = content[:at] + content[random.randrange(len(content) + 1) :]
        else:
            content = content[:at] + random.choice([b"{}", b"null", b'"', b",", b"1e999", b"[]"])
    return content


def look_at_damaged_records(directory: Path, count: int) -> Counter[str]:
    """Each is read, or becomes a dead letter that names nothing but fields of the file.

    Returns how many were read, and how many refused for which reason.
    """
    random, became = Random(11), Counter[str]()
    rows = [change("u", {"zone": "canary"}, {"zone": "light"}), change("d", {"zone": "rest"}, None)]
    events = [{**ATTRIBUTES, "data": {"zone": "light"}}, {"zone": "light", "note": "canary"}]
    for source, whole in ((ROWS, rows), (EVENTS, events)):
        codec = codec_of(directory, source)
        names = {"", "op", "after", "after.zone", "source.ts_ms"}
        names |= {"specversion", "data.zone", "time", "id"}
        for _ in range(count // 200):
            some: list[tuple[object, list[Header]]] = [
                (damaged(random, orjson.dumps(random.choice(whole))), random.choice([[], binary()]))
                for _ in range(100)
            ]
            found = decoded(codec, *some)
            assert len(found.offsets) + len(found.dead.offsets) == len(some)
            assert set(found.dead.fields) <= names
            became["read"] += len(found.offsets)
            became.update(map(str, found.dead.reasons))
    return became


def test_damaged_records_become_dead_letters(tmp_path: Path) -> None:
    look_at_damaged_records(tmp_path, 1_000)
