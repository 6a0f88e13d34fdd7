"""Records of Avro are read as their schema says, and a schema that could do harm is not used."""

import io
from collections import Counter
from decimal import Decimal
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest
from fastavro import parse_schema, schemaless_writer

from fugu.dataflows.base.batches import Batch, Decoded, Reason
from fugu.dataflows.offline.evaluation.drawing import DrawnUsers
from fugu.dataflows.offline.evaluation.drawing import written as lines_of
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.pipeline.config import reading_digest
from fugu.dataflows.records.avro import AvroSchema
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.json_fields import Refused, UnusableSchema
from tests.dataflows.pipeline.pipeline_files import PIPELINE, configured, read, read_error

HEART: dict[str, Any] = {
    "type": "record",
    "name": "Heart",
    "namespace": "vitals",
    "fields": [
        {"name": "zone", "type": ["null", "string"]},
        {"name": "note", "type": "string", "default": "canary"},
    ],
}
SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "Reading",
    "namespace": "vitals",
    "fields": [
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "hearts", "type": {"type": "array", "items": HEART}},
        {"name": "last", "type": ["null", "Heart"], "default": None},
        {
            "name": "watts",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        },
        {"name": "tags", "type": {"type": "map", "values": "int"}},
    ],
}
SOURCE = """value: hearts[0].zone
  timestamp: {field: at, format: epoch-ms}
  format: {kind: avro, schema_file: reading.avsc}"""


def doubled(times: int) -> dict[str, Any]:
    """A schema of a record that holds two of the one before, and so on."""
    whole: Any = "null"
    for number in range(times):
        fields = [{"name": "a", "type": whole}, {"name": "b", "type": f"R{number - 1}"}]
        whole = {"type": "record", "name": f"R{number}", "fields": fields[: 1 + (number > 0)]}
    return dict(whole)


def reading(zone: str | None = "light", **more: object) -> dict[str, object]:
    hearts = [{"zone": zone, "note": "canary"}]
    whole = {"at": 7, "hearts": hearts, "last": None, "watts": Decimal("71.50"), "tags": {"a": 1}}
    return whole | more


def written(value: object, schema: Any = None) -> bytes:
    stream = io.BytesIO()
    schemaless_writer(stream, parse_schema(SCHEMA if schema is None else schema), value)
    return stream.getvalue()


def codec_of(directory: Path, schema: object = SCHEMA, source: str = SOURCE) -> Codec:
    (directory / "reading.avsc").write_bytes(orjson.dumps(schema))
    return configured(directory, text=PIPELINE.replace("value: zone", source)).codec


def decoded(codec: Codec, contents: list[bytes]) -> Decoded:
    count = len(contents)
    keys: list[bytes | None] = [b"ann"] * count
    return codec.decode(Batch(0, range(count), [1] * count, keys, contents, [[]] * count))


def test_fields_are_read_and_logical_types_are_the_numbers_that_stand_there() -> None:
    names = ["hearts[3].zone", "last.zone", "watts", "tags.b", "at"]
    value = AvroSchema.of(SCHEMA, names).read(written(reading()))
    assert value == {**reading(), "watts": 71.5}


def test_a_pipeline_reads_raw_avro_by_a_schema_file(tmp_path: Path) -> None:
    contents = [
        written(reading()),
        written(reading("rest")),
        written(reading(None)),
        written(reading(hearts=[])),
        written(reading("canary")),
        written(reading()) + b"\0",
        written(reading())[:-1],
        b"canary",
        b"",
    ]
    found = decoded(codec_of(tmp_path), contents)
    assert (found.values.tolist(), list(found.timestamps)) == ([1, 0], [7, 7])
    assert list(zip(found.dead.reasons, found.dead.fields, strict=True)) == [
        (Reason.WRONG_TYPE, "hearts[0].zone"),
        (Reason.FIELD_MISSING, "hearts[0].zone"),
        (Reason.OUTSIDE_DOMAIN, "hearts[0].zone"),
        *[(Reason.NOT_AS_SCHEMA, "")] * 4,
    ]
    together = decoded(codec_of(tmp_path), contents[:2] * 300)
    assert together.values.tolist() == [1, 0] * 300


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "array", "items": "null"}, "lists whose items take hardly any bytes"),
        (
            {
                "type": "array",
                "items": {"type": "record", "name": "Nothing", "fields": []},
            },
            "lists whose items take hardly any bytes",
        ),
        (
            {
                "type": "record",
                "name": "Chain",
                "fields": [{"name": "next", "type": ["null", "Chain"]}],
            },
            "a type that holds itself",
        ),
        ({"type": "record", "name": "R", "fields": [{"name": "a", "type": "Gone"}]}, "no schema"),
        ({"type": "record"}, "no schema"),
        (doubled(40), "stands for more than 10,000 parts"),
        ("nothing", "no schema"),
        (SCHEMA, "has no heart.zone"),
    ],
)
def test_a_schema_that_could_do_harm_or_lacks_a_field_is_not_used(
    schema: object, problem: str
) -> None:
    with pytest.raises(UnusableSchema, match=problem):
        AvroSchema.of(schema, ["heart.zone"])


def test_a_path_that_the_schema_cannot_hold_is_refused_before_a_start(tmp_path: Path) -> None:
    for source in ("value: hearts.zone", "value: zones", "value: at.zone"):
        (tmp_path / "reading.avsc").write_bytes(orjson.dumps(SCHEMA))
        text = PIPELINE.replace("value: zone", SOURCE.replace("value: hearts[0].zone", source))
        with pytest.raises(Exception, match=r"schema_file: has no .*"):
            configured(tmp_path, text=text)


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ("{kind: avro}", "write either registry or schema_file"),
        ("{kind: json_schema, schema_file: reading.avsc}", "is for kind: avro"),
        ("{kind: avro, schema_file: gone.avsc}", "cannot be read"),
        (
            "{kind: avro, registry: {url: 'http://me:pw@localhost'}}",
            "registry.url: write http://HOST:PORT",
        ),
        ("avro", "format: avro needs schemas; write a section"),
    ],
)
def test_a_section_that_cannot_be_meant_is_refused(
    section: str, problem: str, tmp_path: Path
) -> None:
    (tmp_path / "reading.avsc").write_bytes(orjson.dumps(SCHEMA))
    error = read_error(tmp_path, PIPELINE.replace("value: zone", f"value: x\n  format: {section}"))
    assert problem in error
    assert "pw" not in error.replace("pipeline.yaml", "")


def test_where_the_registry_is_does_not_say_how_records_are_read(tmp_path: Path) -> None:
    def digest(section: str) -> str:
        text = PIPELINE.replace("value: zone", f"value: zone\n  format: {section}")
        return reading_digest(read(tmp_path, text).pipeline)

    one, two = ("{kind: %s, registry: {url: 'http://%s'}}",) * 2
    assert digest(one % ("avro", "a")) == digest(two % ("avro", "b"))
    assert digest(one % ("avro", "a")) != digest(two % ("json_schema", "a"))
    for schema in (SCHEMA, HEART):
        (tmp_path / "reading.avsc").write_bytes(orjson.dumps(schema))
        assert digest("{kind: avro, schema_file: reading.avsc}") != digest(one % ("avro", "a"))


def look_at_damaged_avro(directory: Path, count: int) -> Counter[str]:
    """Each content is read, or becomes a dead letter that names nothing but a field.

    Returns how many were read, and how many refused for which reason.
    """
    random, codec = Random(3), codec_of(directory)
    became = Counter[str]()
    whole = [written(reading()), written(reading("canary", tags={"canary": 1, "b": 2}))]
    for _ in range(count // 100):
        contents = []
        for _ in range(100):
            content = bytearray(random.choice(whole))
            for _ in range(random.randrange(1, 4)):
                content[random.randrange(len(content))] = random.randrange(256)
            contents.append(bytes(content)[: random.choice([999, random.randrange(60)])])
        found = decoded(codec, contents)
        assert len(found.offsets) + len(found.dead.offsets) == 100
        assert set(found.dead.fields) <= {"", "hearts[0].zone", "at"}
        became["read"] += len(found.offsets)
        became.update(map(str, found.dead.reasons))
    return became


def test_damaged_avro_becomes_dead_letters(tmp_path: Path) -> None:
    look_at_damaged_avro(tmp_path, 1_000)


def test_content_of_a_large_length_takes_no_memory() -> None:
    with pytest.raises(Refused):
        AvroSchema.of({"type": "array", "items": "long"}, []).read(
            b"\xfe\xff\xff\xff\xff\xff\x7f\x02"
        )
    with pytest.raises(Refused):
        AvroSchema.of("bytes", []).read(b"\xfe\xff\xff\xff\xff\xff\x7f\x02")


def test_changes_of_debezium_are_read_over_avro(tmp_path: Path) -> None:
    row = {"type": "record", "name": "Value", "fields": [{"name": "zone", "type": "string"}]}
    envelope = {
        "type": "record",
        "name": "Envelope",
        "namespace": "clinic",
        "fields": [
            {"name": "before", "type": ["null", row], "default": None},
            {"name": "after", "type": ["null", "Value"], "default": None},
            {"name": "op", "type": "string"},
        ],
    }
    source = (
        "value: after.zone\n  format: {kind: avro, schema_file: reading.avsc, envelope: debezium}"
    )
    codec = codec_of(tmp_path, envelope, source)
    rest, light = {"zone": "rest"}, {"zone": "light"}
    changes = [
        {"before": rest, "after": light, "op": "u"},
        {"before": light, "after": None, "op": "d"},
    ]
    found = decoded(codec, [written(one, envelope) for one in changes])
    assert (found.values.tolist(), found.dead.reasons) == ([1], [Reason.ROW_DELETED])


def test_an_avro_record_is_drawn_as_a_line_that_the_same_pipeline_reads(tmp_path: Path) -> None:
    codec, drawn = codec_of(tmp_path), DrawnUsers(9, 9, 0)
    contents = [written(reading()), b"canary", written(reading("rest"))]
    drawn.add(Batch(0, [0, 1, 2], [1] * 3, [b"ann"] * 3, contents, [[]] * 3))
    lines = list(lines_of(drawn.in_order(), ["hearts[0].zone", "at"], "key", None, codec))
    assert b"canary" not in b"".join(lines)
    sample = tmp_path / "sample.jsonl"
    sample.write_bytes(b"".join(lines))
    assert Sample.read(sample, "key", codec).decoded.values.tolist() == [1, 0]


def test_a_decimal_beyond_all_doubles_is_infinite_as_a_double_may_be() -> None:
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 1000, "scale": 0}
    schema = AvroSchema.of(
        {"type": "record", "name": "R", "fields": [{"name": "watts", "type": decimal}]}, ["watts"]
    )
    assert schema.read(b"\x02\x07") == {"watts": 7}
    assert schema.read(b"\xa0\x06" + b"\x7f" * 400) == {"watts": inf}
    assert schema.read(b"\xa0\x06" + b"\x80" * 400) == {"watts": -inf}
