"""Records of Protocol Buffers are read as their text says, and nothing else of them is."""

import logging
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from fugu.dataflows.base.batches import Batch, Decoded, Reason
from fugu.dataflows.files.proto_compiler import MAIN, descriptors_of
from fugu.dataflows.offline.evaluation.drawing import DrawnUsers
from fugu.dataflows.offline.evaluation.drawing import written as lines_of
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.json_fields import Refused, UnusableSchema
from fugu.dataflows.records.protobuf import ProtobufSchema
from fugu.dataflows.records.registered import Registered, SchemaText
from tests.dataflows.pipeline.pipeline_files import PIPELINE, configured

TEXT = """
syntax = "proto3";
package vitals;
import "google/protobuf/timestamp.proto";
import "own/heart.proto";

enum Zone { ZONE_UNKNOWN = 0; rest = 1; light = 2; }
message Reading {
  message Inner { message Innermost { string zone = 1; } }
  google.protobuf.Timestamp at = 1;
  repeated Heart hearts = 2;
  Zone zone = 3;
  int64 steps = 4;
  optional int64 floors = 5;
  map<string, int32> tags = 6;
  string note = 7;
  oneof unit { double meters = 8; float feet = 9; }
  bytes raw = 10;
  repeated uint64 ids = 11;
  map<int32, int32> counts = 12;
}
message Other { string note = 1; }
"""
HEART = 'syntax = "proto3"; package vitals; message Heart { string zone = 1; string note = 2; }'
SOURCE = """value: hearts[0].zone
  timestamp: {field: at, format: epoch-ms}
  format: {kind: protobuf, registry: {url: 'http://localhost:8081'}}"""
PREFIX = b"\0\0\0\0\x07"


@cache
def pool() -> DescriptorPool:
    """All types of the text."""
    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(descriptors_of(TEXT, {"own/heart.proto": HEART})).file:
        pool.Add(file)
    return pool


def schema_of(names: list[str], whole: bool = False) -> ProtobufSchema:
    return ProtobufSchema(pool().FindFileByName(MAIN), names, whole)


def message(name: str, **fields: Any) -> bytes:
    """What a producer writes of a type, without the place of it."""
    written = GetMessageClass(pool().FindMessageTypeByName(name))(**fields)
    return written.SerializeToString(deterministic=True)


def reading(heart: str = "light", **more: Any) -> bytes:
    hearts = [{"zone": heart, "note": "canary"}]
    fields = {"at": {"seconds": 7, "nanos": 42_999_999}, "hearts": hearts, "note": "canary"}
    return message("vitals.Reading", **(fields | more))


def read(names: list[str], content: bytes, whole: bool = False) -> object:
    return schema_of(names, whole).read(b"\0" + content)


class OneSchema:
    """A registry that knows one schema."""

    url = "http://localhost:8081"
    away_since: float | None = None
    away_because: str = ""

    def prepare(self) -> None:
        """Nothing."""

    def are_there(self, _: object) -> bool:
        return True

    def text_of(self, number: int) -> SchemaText | None:
        return SchemaText("PROTOBUF", TEXT, {"own/heart.proto": HEART}) if number == 7 else None

    def newest(self, _: str) -> SchemaText | None:
        return self.text_of(7)


def codec_of(directory: Path, source: str = SOURCE) -> Codec:
    codec = configured(directory, text=PIPELINE.replace("value: zone", source)).codec
    assert isinstance(codec.wire, Registered)
    return replace(codec, wire=replace(codec.wire, schemas=OneSchema()))


def decoded(codec: Codec, contents: list[bytes]) -> Decoded:
    count = len(contents)
    keys: list[bytes | None] = [b"ann"] * count
    return codec.decode(Batch(0, range(count), [1] * count, keys, contents, [[]] * count))


def test_fields_are_read_by_their_paths_and_no_others() -> None:
    names = ["at", "at.seconds", "zone", "steps", "tags.a", "hearts[1].zone", "ids[0]", "meters"]
    content = reading(
        hearts=[{"zone": "rest"}, {"zone": "light"}],
        steps=-(2**62),
        tags={"a": 3},
        ids=[2**64 - 1],
        meters=1.5,
    )
    assert read(names, content) == {
        "at": 7_042,
        "at.seconds": 7,
        "zone": "ZONE_UNKNOWN",
        "steps": -(2**62),
        "tags.a": 3,
        "hearts[1].zone": "light",
        "ids[0]": 2**64 - 1,
        "meters": 1.5,
    }
    assert read(["zone"], message("vitals.Reading", zone="light")) == {"zone": "light"}


def test_a_field_without_presence_is_its_default_and_one_with_presence_is_absent() -> None:
    names = ["steps", "zone", "note", "floors", "at", "meters", "feet", "tags.a", "ids[0]"]
    assert read(names, b"") == {"steps": 0, "zone": "ZONE_UNKNOWN", "note": ""}
    assert read(["floors"], message("vitals.Reading", floors=0)) == {"floors": 0}


def test_a_whole_message_is_what_json_would_hold() -> None:
    content = reading(tags={"b": 2, "a": 1}, zone="light", meters=2.0)
    assert read([], content, whole=True) == {
        "at": 7_042,
        "hearts": [{"zone": "light", "note": "canary"}],
        "zone": "light",
        "steps": 0,
        "tags": {"a": 1, "b": 2},
        "note": "canary",
        "meters": 2.0,
        "raw": b"",
        "ids": [],
        "counts": {},
    }
    assert list(read(["tags"], content)["tags"]) == ["a", "b"]  # type: ignore[index]


@pytest.mark.parametrize(
    "name",
    ["zones", "hearts.zone", "hearts[0].bpm", "at[0]", "tags[0]", "counts.a", "zone.x", "meters.x"],
)
def test_a_path_that_the_text_cannot_hold_is_refused(name: str) -> None:
    with pytest.raises(UnusableSchema, match="has no "):
        read([name], reading())


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("message", {}),
        ('syntax = "proto3"; import "gone.proto"; message A {}', {}),
        ('syntax = "proto3"; message A { Gone a = 1; }', {}),
        ('syntax = "proto3"; import "../a.proto"; message A {}', {"../a.proto": HEART}),
        ('syntax = "proto3"; import "/a.proto"; message A {}', {"/a.proto": HEART}),
    ],
)
def test_a_text_that_is_no_schema_is_not_used(text: str, others: dict[str, str]) -> None:
    with pytest.raises(UnusableSchema):
        ProtobufSchema.of(text, [], others)


@pytest.mark.parametrize(
    ("places", "is_read"),
    [
        (b"\0", True),
        (b"\x02\0", True),
        (b"\x02\x80\0", True),
        (b"\x02\x04", False),
        (b"\x02\x01", False),
        (b"\x06\0\x02\0", False),
        (b"\x01", False),
        (b"\x80" * 11, False),
        (b"\x7e", False),
        (b"", False),
    ],
)
def test_the_place_of_a_type_is_read_as_serializers_write_it(places: bytes, is_read: bool) -> None:
    schema = schema_of(["note"])
    content = places + message("vitals.Reading", note="x")
    if is_read:
        assert schema.read(content) == {"note": "x"}
    else:
        with pytest.raises((Refused, UnusableSchema)):
            schema.read(content)


def test_a_descriptor_in_base64_is_read_as_its_text() -> None:
    """Serializers of Python register it so, with all imports but those of Protocol Buffers."""
    files = FileDescriptorSet.FromString(descriptors_of(TEXT, {"own/heart.proto": HEART})).file
    described = {one.name: b64encode(one.SerializeToString()).decode() for one in files}
    heart = {"own/heart.proto": described["own/heart.proto"]}
    schema = ProtobufSchema.of(described[MAIN], ["hearts[0].zone", "at"], heart)
    assert schema.read(b"\0" + reading("rest")) == {"hearts[0].zone": "rest", "at": 7_042}
    for others in ({}, {"own/heart.proto": HEART}, {"own/heart.proto": described[MAIN]}):
        with pytest.raises(UnusableSchema):
            ProtobufSchema.of(described[MAIN], [], others)


def test_types_inside_of_types_are_found() -> None:
    schema = schema_of(["zone"])
    innermost = message("vitals.Reading.Inner.Innermost", zone="rest")
    assert schema.read(b"\x06\0\0\0" + innermost) == {"zone": "rest"}
    with pytest.raises(UnusableSchema, match="has no zone"):
        schema.read(b"\x02\x02" + message("vitals.Other", note="canary"))


def test_a_pipeline_reads_what_a_serializer_writes(tmp_path: Path) -> None:
    whole = [reading(), reading("rest"), reading("canary"), reading(hearts=[])]
    contents = [PREFIX + b"\0" + one for one in whole]
    contents += [
        PREFIX + b"\0" + reading()[:-1],
        PREFIX + b"\x02\x02" + message("vitals.Other", note="canary"),
        PREFIX + b"\x02\x06canary",
        b"canary",
        b"\0\0\0\0\x08canary",
    ]
    found = decoded(codec_of(tmp_path), contents)
    assert (found.values.tolist(), list(found.timestamps)) == ([1, 0], [7_042] * 2)
    assert list(zip(found.dead.reasons, found.dead.fields, strict=True)) == [
        (Reason.OUTSIDE_DOMAIN, "hearts[0].zone"),
        (Reason.FIELD_MISSING, "hearts[0].zone"),
        (Reason.NOT_AS_SCHEMA, "schema 7"),
        (Reason.UNUSABLE_SCHEMA, "schema 7"),
        (Reason.NOT_AS_SCHEMA, "schema 7"),
        (Reason.NO_SCHEMA_ID, ""),
        (Reason.UNKNOWN_SCHEMA, ""),
    ]
    together = decoded(codec_of(tmp_path), contents[:2] * 300)
    assert together.values.tolist() == [1, 0] * 300


def test_an_enum_has_names_and_a_number_without_one_is_refused(tmp_path: Path) -> None:
    codec = codec_of(tmp_path, SOURCE.replace("hearts[0].zone", "zone"))
    contents = [PREFIX + b"\0" + reading(zone=zone) for zone in ("light", "rest", "ZONE_UNKNOWN")]
    unnamed = PREFIX + b"\0" + message("vitals.Reading", zone=77)
    found = decoded(codec, [*contents, unnamed])
    assert found.values.tolist() == [1, 0]
    assert found.dead.reasons == [Reason.OUTSIDE_DOMAIN, Reason.NOT_AS_SCHEMA]


def look_at_damaged_protobuf(directory: Path, count: int) -> Counter[str]:
    """Each content is read, or becomes a dead letter that names nothing but a field.

    Returns how many were read, and how many refused for which reason.
    """
    random, codec = Random(3), codec_of(directory)
    became = Counter[str]()
    whole = [reading(), reading("canary", tags={"canary": 1, "b": 2}, meters=3.0, ids=[1, 2])]
    for _ in range(count // 100):
        contents = []
        for _ in range(100):
            content = bytearray(b"\0" + random.choice(whole))
            for _ in range(random.randrange(1, 4)):
                content[random.randrange(len(content))] = random.randrange(256)
            contents.append(PREFIX + bytes(content)[: random.choice([999, random.randrange(60)])])
        found = decoded(codec, contents)
        assert len(found.offsets) + len(found.dead.offsets) == 100
        assert set(found.dead.fields) <= {"", "hearts[0].zone", "at", "schema 7"}
        became["read"] += len(found.offsets)
        became.update(map(str, found.dead.reasons))
    return became


@contextmanager
def silence(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Hold that nothing of a record is said."""
    with caplog.at_level(logging.DEBUG):
        yield
    assert "canary" not in caplog.text


def test_damaged_protobuf_becomes_dead_letters(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with silence(caplog):
        look_at_damaged_protobuf(tmp_path, 1_000)
    assert "canary" not in "".join(capfd.readouterr())


def test_a_record_of_protobuf_is_drawn_as_a_line_that_the_same_pipeline_reads(
    tmp_path: Path,
) -> None:
    codec, drawn = codec_of(tmp_path), DrawnUsers(9, 9, 0)
    contents = [PREFIX + b"\0" + reading(), b"canary", PREFIX + b"\0" + reading("rest")]
    drawn.add(Batch(0, [0, 1, 2], [1] * 3, [b"ann"] * 3, contents, [[]] * 3))
    lines = list(lines_of(drawn.in_order(), ["hearts[0].zone", "at"], "key", None, codec))
    assert b"canary" not in b"".join(lines)
    sample = tmp_path / "sample.jsonl"
    sample.write_bytes(b"".join(lines))
    assert Sample.read(sample, "key", codec).decoded.values.tolist() == [1, 0]


def test_changes_of_debezium_are_read_over_protobuf(tmp_path: Path) -> None:
    source = """value: after.zone
  format: {kind: protobuf, registry: {url: 'http://localhost:8081'}, envelope: debezium}"""
    codec = codec_of(tmp_path, source)
    text = """syntax = "proto3"; message Envelope {
      message Value { string zone = 1; } Value before = 1; Value after = 2; string op = 3; }"""

    class Changes(OneSchema):
        def text_of(self, number: int) -> SchemaText | None:
            return SchemaText("PROTOBUF", text)

    assert isinstance(codec.wire, Registered)
    codec = replace(codec, wire=replace(codec.wire, schemas=Changes()))
    rest, light = b"\x0a\x04rest", b"\x0a\x05light"
    updated = b"\x0a\x06" + rest + b"\x12\x07" + light + b"\x1a\x01u"
    deleted = b"\x0a\x07" + light + b"\x1a\x01d"
    found = decoded(codec, [PREFIX + b"\0" + one for one in (updated, deleted)])
    assert (found.values.tolist(), found.dead.reasons) == ([1], [Reason.ROW_DELETED])
