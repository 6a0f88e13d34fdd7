"""A schema of a stranger makes dead letters at most: it ends nothing, and shows no other record."""

import json
import tempfile
import time
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from fugu.dataflows.base.batches import Batch, Decoded, Reason
from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.files.proto_compiler import CannotCompile, UnusableText, descriptors_of
from fugu.dataflows.records import registered
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.payloads import Payloads
from fugu.dataflows.records.registered import Registered, SchemaKind, SchemaText, prefix_of

SECONDS = 10
STRING = ("zone", "string")


@dataclass
class OneText:
    """A registry of one schema."""

    found: SchemaText
    url: str = "http://localhost"
    away_since: float | None = None
    away_because: str = ""

    def prepare(self) -> None:
        """Nothing."""

    def are_there(self, _: object) -> bool:
        return True

    def text_of(self, number: int) -> SchemaText | None:
        return self.found

    def newest(self, subject: str) -> SchemaText | None:
        return self.found


def decoded(
    kind: SchemaKind, found: SchemaText, contents: list[bytes], whole: bool = False
) -> Decoded:
    """What becomes of records, in columns as Kafka's clients bring them; each in ten seconds."""
    wire = Registered(kind, OneText(found), [] if whole else ["zone"], whole)
    codec = Codec(Payloads(["zone"], null="as_none"), 1_000_000, wire=wire)
    count = len(contents)
    keys: list[bytes | None] = [b"ann"] * count
    values = OptionalByteColumn.of([prefix_of(7) + one for one in contents])
    batch = Batch(0, range(count), [1] * count, OptionalByteColumn.of(keys), values, [[]] * count)
    begin = time.monotonic()
    result = codec.decode(batch)
    assert time.monotonic() - begin < SECONDS
    return result


def record(*fields: object) -> dict[str, Any]:
    """A record of fields with these types; a pair is a name and a type."""
    named = [
        one if isinstance(one, tuple) else (f"f{number}", one) for number, one in enumerate(fields)
    ]
    fields_of = [{"name": name, "type": kind} for name, kind in named]
    return {"type": "record", "name": "R", "fields": fields_of}


ZONE_ONLY = [{"name": "zone", "type": "string"}]


def fixed(size: object) -> dict[str, object]:
    return {"type": "fixed", "name": "F", "size": size}


def nested(depth: int, inner: Any = "string") -> Any:
    for number in range(depth):
        fields = [{"name": "a", "type": inner}]
        inner = {"type": "record", "name": f"R{number}", "fields": fields}
    return inner


def chained(depth: int) -> Any:
    """Types that hold each other by name, which are written side by side."""
    whole: list[Any] = [{"type": "record", "name": "N0", "fields": ZONE_ONLY}]
    for number in range(1, depth):
        fields = [{"name": "a", "type": f"N{number - 1}"}]
        whole.append({"type": "record", "name": f"N{number}", "fields": fields})
    return record(STRING, whole)


def decimal(**more: object) -> dict[str, object]:
    return {"type": "bytes", "logicalType": "decimal", "precision": 9} | more


AVRO: dict[str, Any] = {
    "a fixed of 1e30": record(STRING, fixed(1e30)),
    "a fixed of 10^30": record(STRING, fixed(10**12)),
    "a fixed of a negative size": record(fixed(-24), STRING),
    "a fixed of no size": record(STRING, fixed(None)),
    "a fixed of a size as text": record(STRING, fixed("3")),
    "a fixed of a truth": record(STRING, fixed(True)),
    "a list that goes backwards": record({"type": "array", "items": fixed(-2)}, STRING),
    "a list of a part that goes backwards": record(
        {"type": "array", "items": record(fixed(-1), "boolean", "boolean") | {"name": "I"}}, STRING
    ),
    "a list of nothing": record(STRING, {"type": "array", "items": "null"}),
    "a list of empty records": record(STRING, {"type": "array", "items": record() | {"name": "E"}}),
    "a list of empty fixed": record(STRING, {"type": "array", "items": fixed(0)}),
    "a list of wide records of a byte": record(
        STRING, {"type": "array", "items": record("boolean", *["null"] * 9_000) | {"name": "W"}}
    ),
    "a map of wide records": record(
        STRING, {"type": "map", "values": record(*["null"] * 9_000) | {"name": "W"}}
    ),
    "alternatives of wide records": record(
        STRING,
        {"type": "array", "items": ["null", record(*["null"] * 9_000) | {"name": "W"}]},
    ),
    "a decimal of a scale of 10^9": record(STRING, decimal(precision=10**9, scale=10**9)),
    "a decimal of a negative scale": record(STRING, decimal(scale=-(10**9))),
    "a decimal of a scale beyond its precision": record(STRING, decimal(scale=10)),
    "a decimal of 10^6 digits": record(STRING, decimal(precision=10**6)),
    "a decimal without a precision": record(STRING, decimal(precision=None)),
    "types inside of types": record(STRING, nested(150)),
    "very many types inside of types": record(STRING, nested(250)),
    "types by name inside of types": chained(150),
    "lists inside of lists": record(STRING, {"type": "array", "items": nested(120)}),
    "a type that holds itself": record(STRING, ["null", "R"]),
    "one name for two types": record(STRING, fixed(3), fixed(4)),
    "a type that takes the name of a list": record(STRING, {**fixed(2), "name": "array"}),
    "no alternatives": record(STRING, []),
    "a name that is a number": {"type": "record", "name": 5, "fields": ZONE_ONLY},
    "a field whose name is a number": record(STRING, (5, "int")),
    "a type that is a number": record(STRING, 5),
    "nothing": None,
}


@pytest.mark.parametrize("schema", AVRO.values(), ids=AVRO.keys())
def test_a_hostile_schema_of_avro_makes_its_records_dead_letters(schema: object) -> None:
    contents = [b"\x08rest\x02\x00" + b"\x08mine\x08mine" * 3, b"\x08rest", b"", b"\x04" * 60] * 5
    found = decoded("avro", SchemaText("AVRO", json.dumps(schema)), contents)
    assert set(found.dead.reasons) == {Reason.UNUSABLE_SCHEMA}
    assert len(found.dead.offsets) == len(contents)


def test_content_that_claims_very_many_items_ends() -> None:
    schema = record(STRING, {"type": "array", "items": "boolean"}, {"type": "map", "values": "int"})
    most, backwards = b"\xfe" + b"\xff" * 8 + b"\x01", b"\xff" * 9 + b"\x01"
    contents = [b"\x08rest" + count + b"\x02" * 30 for count in (most, backwards)] * 10
    found = decoded("avro", SchemaText("AVRO", json.dumps(schema)), contents)
    assert set(found.dead.reasons) == {Reason.NOT_AS_SCHEMA}


def test_a_decimal_of_more_digits_than_it_may_have_is_no_number() -> None:
    schema = record(STRING, decimal(precision=3, scale=1))
    zone = b"\x08rest"
    text = SchemaText("AVRO", json.dumps(schema))
    long = b"\x80\x80\x70" + b"\x7f" * 917_504
    found = decoded("avro", text, [zone + b"\x04\x03\xe7", zone + b"\x04\x03\xe8", zone + long])
    assert list(found.offsets) == [0]
    assert found.dead.reasons == [Reason.NOT_AS_SCHEMA] * 2


def proto(body: str, syntax: str = "proto3") -> str:
    return f'syntax = "{syntax}"; {body}'


ZONE = proto("message R { string zone = 1; }")
IMPORTS = 'import "{}"; message R {{ string zone = 1; }}'


DEEP_OPTIONS = proto(
    'import "google/protobuf/descriptor.proto"; message A { optional A a = 1; }'
    "extend google.protobuf.FileOptions { optional A x = 50000; } option (x) = {"
    + "a {" * 100_000
    + "}" * 100_000
    + "}; message R { optional string zone = 1; }",
    "proto2",
)
"""The compiler ends by a signal."""


def described(**more: Any) -> FileDescriptorProto:
    """A descriptor with a message that has the field."""
    file = FileDescriptorProto(name="f.proto", syntax="proto3", **more)
    message = file.message_type.add(name="R")
    message.field.add(name="zone", number=1, type=9, label=1)
    return file


def in_base64(file: FileDescriptorProto) -> str:
    return b64encode(file.SerializeToString()).decode()


def deep_descriptor() -> FileDescriptorProto:
    file = described()
    inner = file.message_type[0]
    for number in range(90):
        inner = inner.nested_type.add(name=f"N{number}")
    return file


PROTOBUF: dict[str, tuple[str, dict[str, str]]] = {
    "files named a and a/b": (proto(IMPORTS.format("a")), {"a": ZONE, "a/b": ZONE}),
    "files named a/b and a": (proto(IMPORTS.format("a/b")), {"a/b": ZONE, "a": ZONE}),
    "options 100,000 deep": (DEEP_OPTIONS, {}),
    "messages 100,000 deep": (proto("message M {" * 100_000 + "}" * 100_000), {}),
    "a file above": (proto(IMPORTS.format("../x")), {"../x": ZONE}),
    "a file above that is not imported": (proto("message R { int32 x = 1; }"), {"a/../../x": ZONE}),
    "a file from the root": (proto(IMPORTS.format("/etc/passwd")), {"/etc/passwd": ZONE}),
    "a file with a long name": (proto(IMPORTS.format("x" * 300)), {"x" * 300: ZONE}),
    "a file in many folders": (proto("message R {}"), {"x/" * 3_000 + "y": ZONE}),
    "a file with a zero in its name": (proto("message R {}"), {"x\0y": ZONE}),
    "a file without a name": (proto("message R {}"), {"": ZONE}),
    "a file that is the folder": (proto("message R {}"), {".": ZONE}),
    "half a character": (proto("message R {}"), {"a\ud800": ZONE}),
    "half a character in a text": (proto("message R {} // \ud800"), {}),
    "a descriptor of two files of one name": (
        in_base64(described(dependency=["x"])),
        {"x": in_base64(described(dependency=["fugu-main.proto"]))},
    ),
    "a descriptor of a type that is not there": (
        in_base64(FileDescriptorProto(name="f", dependency=["gone"])),
        {},
    ),
    "a map without keys": (
        in_base64(
            FileDescriptorProto.FromString(
                b"\n\x01f" + b"\x22\x0b\n\x01R\x3a\x02\x38\x01\x22\x02\n\0b\x06proto3"
            )
        ),
        {},
    ),
}


@pytest.mark.parametrize(("text", "others"), PROTOBUF.values(), ids=PROTOBUF.keys())
def test_a_hostile_text_of_protobuf_makes_its_records_dead_letters(
    text: str, others: dict[str, str]
) -> None:
    contents = [b"\0\x0a\x04rest", b"\0", b"\x02\x02", b"\0" + b"\x08" * 50] * 5
    found = decoded("protobuf", SchemaText("PROTOBUF", text, others), contents)
    assert set(found.dead.reasons) <= {Reason.UNUSABLE_SCHEMA, Reason.NOT_AS_SCHEMA}
    assert Reason.UNUSABLE_SCHEMA in found.dead.reasons
    assert len(found.dead.offsets) == len(contents)


def test_a_descriptor_of_many_types_inside_of_types_is_read_or_unusable() -> None:
    text = SchemaText("PROTOBUF", in_base64(deep_descriptor()))
    found = decoded("protobuf", text, [b"\0\x0a\x04rest"] * 20)
    assert len(found.offsets) + len(found.dead.offsets) == 20


def test_a_compiler_that_does_not_end_is_ended() -> None:
    begin = time.monotonic()
    with pytest.raises(UnusableText, match="too long"):
        descriptors_of(ZONE, {}, seconds=0.01)
    assert time.monotonic() - begin < 5


def test_few_bytes_do_not_become_very_much_memory() -> None:
    """A message of two bytes takes room for each field of its type."""
    wide = "".join(f"int64 f{number} = {number + 1};" for number in range(4_000))
    text = proto(f"message R {{ string zone = 1; repeated W many = 2; }} message W {{ {wide} }}")
    many = b"\0\x0a\x04rest" + b"\x12\0" * 400_000
    fine = b"\0\x0a\x04rest" + b"\x12\0" * 100
    found = decoded("protobuf", SchemaText("PROTOBUF", text), [many, fine])
    assert (list(found.offsets), found.dead.reasons) == ([1], [Reason.TOO_LARGE])
    as_list = proto(f"message R {{ repeated W zone = 2; }} message W {{ {wide} }}")
    found = decoded("protobuf", SchemaText("PROTOBUF", as_list), [b"\0" + b"\x12\0" * 100, b"\0"])
    assert (list(found.offsets), found.dead.reasons) == ([1], [Reason.TOO_LARGE])
    found = decoded("protobuf", SchemaText("PROTOBUF", as_list), [b"\0" + b"\x12\0" * 100], True)
    assert found.dead.reasons == [Reason.TOO_LARGE]


@pytest.mark.parametrize("whole", [False, True])
def test_odd_messages_are_read_or_dead_letters(whole: bool) -> None:
    text = proto(
        'import "google/protobuf/any.proto"; import "time.proto";'
        "message R { optional string zone = 1; optional R inner = 2; optional group G = 3 {} "
        "optional google.protobuf.Any any = 4; optional bytes raw = 5; "
        "optional google.protobuf.Timestamp at = 6; }",
        "proto2",
    )
    time_text = proto("package google.protobuf; message Timestamp { string seconds = 1; }")
    found = SchemaText("PROTOBUF", text, {"time.proto": time_text})
    zone = b"\x0a\x04rest"
    deep = b""
    for _ in range(150):
        size = len(deep)
        deep = (
            b"\x12"
            + (bytes([size]) if size < 128 else bytes([size % 128 + 128, size // 128]))
            + deep
        )
    contents = {
        "as it should be": zone,
        "no UTF-8": b"\x0a\x02\xff\xfe",
        "a field that nobody knows": zone + b"\xa0\x06\x01",
        "a group": zone + b"\x1b\x1c",
        "a group without an end": zone + b"\x1b",
        "a group that nobody knows": zone + b"\xa3\x06\xa4\x06",
        "an Any of anything": zone + b"\x22\x04\x0a\x02xx",
        "longer than it is": zone + b"\x12\x7fxx",
        "a length of 2^63": zone + b"\x2a" + b"\xff" * 9 + b"\x01",
        "very deep": deep + zone,
        "a time of text": zone + b"\x32\x05\x0a\x03abc",
    }
    result = decoded("protobuf", found, [b"\0" + one for one in contents.values()], whole)
    read = [list(contents)[place] for place in result.offsets]
    refused = [list(contents)[place] for place in result.dead.offsets]
    assert "as it should be" in read
    assert {"no UTF-8", "longer than it is", "very deep", "a length of 2^63"} <= set(refused)
    assert set(result.dead.reasons) <= {Reason.NOT_AS_SCHEMA, Reason.OUTSIDE_DOMAIN}


def test_a_schema_is_prepared_beside_the_dataflow() -> None:
    wire = Registered("protobuf", OneText(SchemaText("PROTOBUF", ZONE)), ["zone"])
    content = [prefix_of(7) + b"\0"]
    begin = time.monotonic()
    assert not wire.is_ready(content)
    assert time.monotonic() - begin < 0.1
    while not wire.is_ready(OptionalByteColumn.of(content)):
        assert time.monotonic() - begin < SECONDS
        time.sleep(0.01)
    assert wire.read(content[0]) == {"zone": ""}


def wait_for(wire: Registered, contents: list[bytes]) -> None:
    """Wait until the schema of these records is prepared."""
    begin = time.monotonic()
    while not wire.is_ready(contents):
        assert time.monotonic() - begin < SECONDS
        time.sleep(0.01)


def test_no_schema_is_to_blame_where_nothing_can_be_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wire = Registered("protobuf", OneText(SchemaText("PROTOBUF", ZONE)), ["zone"])
    content = [prefix_of(7) + b"\0"]
    with monkeypatch.context() as full:
        full.setattr(tempfile, "tempdir", str(tmp_path / "not there"))
        with pytest.raises(CannotCompile, match="TMPDIR"):
            wait_for(wire, content)
    wait_for(wire, content)
    assert wire.read(content[0]) == {"zone": ""}


def test_records_of_avro_are_not_begun_with_where_nothing_reads_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wire = Registered("avro", OneText(SchemaText("AVRO", "{}")), ["zone"])
    wire.prepare()
    monkeypatch.setattr(registered, "find_spec", lambda _: None)
    with pytest.raises(ConfigurationError, match="needs the extra registry"):
        wire.prepare()


@pytest.mark.parametrize("kind", ["string", "long"])
def test_a_type_of_avro_may_have_attributes_of_others(kind: str) -> None:
    found = record(STRING, {"type": kind, "name": "no/name", "namespace": "n", "x": [1]})
    result = decoded("avro", SchemaText("AVRO", json.dumps(found)), [b"\x08rest\x00"])
    assert list(result.values) == [b'"rest"']


def test_a_decimal_beyond_all_doubles_does_not_matter_where_it_is_not_read() -> None:
    number = {"type": "bytes", "logicalType": "decimal", "precision": 400}
    bytes_of = (10**399).to_bytes(166, "big", signed=True)
    content = b"\x08rest" + b"\xcc\x02" + bytes_of
    result = decoded("avro", SchemaText("AVRO", json.dumps(record(STRING, number))), [content])
    assert list(result.values) == [b'"rest"']
