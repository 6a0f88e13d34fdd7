"""Describe what releases hold as a schema of Avro or Protocol Buffers, and write them by it."""

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import orjson

from fugu.dataflows.base.field_paths import released_name
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.json_fields import UnusableSchema
from fugu.dataflows.records.registered import SchemaKind, SchemaText
from fugu.dataflows.records.values import Values

_ONE = "whether it says what an earlier release said"


@dataclass(frozen=True)
class Shown:
    """Describe a field of a release: its type in Avro, and whether it may be null or left out."""

    name: str
    type: str
    about: str
    many: bool = False
    null: bool = False
    default: bool | None = None


_REPEATED = Shown("repeated", "boolean", _ONE, default=False)
_CONFIDENCE = Shown("confidence", "double", "the probability that it is true, if known", null=True)
_SERIES = (
    Shown("value", "double", "the released number"),
    Shown("standard_error", "double", "the standard error of the value, if known", null=True),
    Shown("status", "string", "how the value came about"),
    Shown("predicted", "boolean", "whether it is predicted, and nothing was measured"),
    Shown("spent_rho", "double", "the budget that is spent"),
    Shown("remaining_rho", "double", "the budget that is left"),
    Shown("budget_exhausted", "boolean", "whether nothing is left to measure with"),
)


def shown_by(values: Values) -> tuple[Shown, ...]:
    """Return the fields of releases; `UnusableSchema` where they have none that are fixed.

    Fields depend on how a kind releases, and on the name of the field alone: not on the alphabet,
    and not on numbers of the law. So schemas stay the same where a pipeline changes those. A later
    version of Fugu may add fields at the end that have defaults, which readers of before pass over.
    """
    form = values.released_as
    if form in ("payload", "figures", "person"):
        raise UnusableSchema(f"releases of this kind ({form}) have no fixed fields; leave it out")
    name, symbol = released_name(values.field), "string"
    if isinstance(values, Alphabet) and isinstance(next(iter(values.index)), int):
        symbol = "long"
        if not all(-(2**63) <= one < 2**63 for one in values.index if isinstance(one, int)):
            raise UnusableSchema("a symbol of the alphabet does not fit into 64 bits")
    shown: tuple[Shown, ...]
    several = Shown(name, symbol, "the released symbols", many=True)
    match form:
        case "symbol":
            shown = (Shown(name, symbol, "the released symbol"), _CONFIDENCE, _REPEATED)
        case "symbols":
            shown = (several, _CONFIDENCE, _REPEATED)
        case "set":
            shown = (several, _REPEATED)
        case "report":
            shown = (several, Shown("epsilon", "double", "the nats of this report"), _REPEATED)
        case "half":
            shown = (Shown(name, "long", "a row of the matrix, and a sign", many=True), _REPEATED)
        case "number":
            shown = (Shown(name, "double", "the released number"), _REPEATED)
        case _:
            shown = _SERIES
    if len({one.name for one in shown}) < len(shown):
        raise UnusableSchema(f"releases hold {name} already; give the field another name")
    return shown


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_TYPES = {"string": "string", "long": "int64", "double": "double", "boolean": "bool"}
_VARINT, _EIGHT_BYTES, _SIZED = 0, 1, 2
_WIRE_TYPES = {"string": _SIZED, "long": _VARINT, "double": _EIGHT_BYTES, "boolean": _VARINT}
_FIRST_TYPE = b"\0"
"""The place of the message in its text, which stands in front of each."""


def message_text(shown: Sequence[Shown]) -> str:
    """Return the text of a message with these fields; `UnusableSchema` where it has no such names.

    >>> print(message_text([Shown("watts", "double", "the released number")]))
    syntax = "proto3";
    package fugu;
    <BLANKLINE>
    message Release {
      double watts = 1; // the released number
    }
    <BLANKLINE>
    """
    _refuse_odd_names([one.name for one in shown])
    fields = "".join(
        f"  {_label(one)}{_TYPES[one.type]} {one.name} = {number}; // {one.about}\n"
        for number, one in enumerate(shown, 1)
    )
    return f'syntax = "proto3";\npackage fugu;\n\nmessage Release {{\n{fields}}}\n'


def _label(one: Shown) -> str:
    if one.many:
        return "repeated "
    return "optional " if one.null else ""


def _refuse_odd_names(names: Sequence[str]) -> None:
    known: dict[str, str] = {}
    for name in names:
        if not _NAME.fullmatch(name):
            raise UnusableSchema(
                f"Protocol Buffers have no fields that are called {name}; write kind: json_schema"
            )
        other = known.setdefault(name.replace("_", "").lower(), name)
        if other != name:
            raise UnusableSchema(
                f"{other} and {name} are one name in code for Protocol Buffers; write "
                "kind: json_schema"
            )


def message_writer(shown: Sequence[Shown]) -> Callable[[bytes], bytes]:
    """Return what makes a message of a release in JSON.

    The bytes are written here and not by google.protobuf, which may order and leave out fields as
    it likes in another version: a replay must write what was published.

    Fields have numbers in their order, from 1. A list and a field that is always there have no
    presence, so that what is their default is left out, as proto3 has it.

    >>> watts = Shown("watts", "double", "the released number")
    >>> message_writer([watts])(b'{"watts": 2.0}')
    b'\\x00\\t\\x00\\x00\\x00\\x00\\x00\\x00\\x00@'
    """
    fields = [(one, number) for number, one in enumerate(shown, 1)]

    def write(content: bytes) -> bytes:
        release = orjson.loads(content)
        parts = (_field(one, number, release.get(one.name)) for one, number in fields)
        return _FIRST_TYPE + b"".join(parts)

    return write


def _field(one: Shown, number: int, value: Any) -> bytes:
    """Return a field with its tag; nothing for null and for a default that has no presence.

    `ValueError` names a field without a value whose readers would see one.
    """
    tag = _varint(number << 3 | _WIRE_TYPES[one.type])
    if one.many:
        if one.type == "string":
            return b"".join(tag + _written(one.type, each) for each in value)
        packed = b"".join(_written(one.type, each) for each in value)
        return _varint(number << 3 | _SIZED) + _sized(packed) if packed else b""
    if value is None:
        if not one.null and one.default is None:
            raise ValueError(f"{one.name} is missing: readers would take it for 0")
        return b""
    written = _written(one.type, value)
    return tag + written if one.null or any(written) else b""


def _written(kind: str, value: Any) -> bytes:
    if kind == "string":
        return _sized(value.encode())
    if kind == "double":
        return struct.pack("<d", value)
    return _varint(int(value) & (2**64 - 1))


def _sized(content: bytes) -> bytes:
    return _varint(len(content)) + content


def _varint(number: int) -> bytes:
    """Return a number without a sign, seven bits in a byte.

    >>> _varint(300)
    b'\\xac\\x02'
    """
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


_AVRO_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_JSON_TYPES = {"string": "string", "long": "integer", "double": "number", "boolean": "boolean"}


@dataclass(frozen=True)
class ReleaseSchema:
    """Hold the kind of a schema of releases, and the fields that it has."""

    kind: SchemaKind
    shown: tuple[Shown, ...]

    @property
    def text(self) -> SchemaText:
        """Return the schema as a registry has it."""
        return schema_text(self.kind, self.shown)

    def writer(self) -> Callable[[bytes], bytes] | None:
        """Return what writes a release in JSON behind the id of the schema; None where it stays."""
        if self.kind == "avro":
            return writer_of(self.shown)
        return message_writer(self.shown) if self.kind == "protobuf" else None


def release_schema(kind: SchemaKind, values: Values) -> ReleaseSchema:
    """Return the schema of releases; `UnusableSchema` where they have none of this kind."""
    schema = ReleaseSchema(kind, shown_by(values))
    _ = schema.text
    return schema


def schema_text(kind: SchemaKind, shown: Sequence[Shown]) -> SchemaText:
    """Return the schema of fields; `UnusableSchema` where the kind has no such names.

    >>> schema_text("avro", [Shown("watts", "double", "the released number")]).kind
    'AVRO'
    """
    if kind == "protobuf":
        return SchemaText("PROTOBUF", message_text(shown))
    if kind == "avro":
        odd = [one.name for one in shown if not _AVRO_NAME.fullmatch(one.name)]
        if odd:
            raise UnusableSchema(
                f"Avro has no fields that are called {odd[0]}; write kind: json_schema"
            )
        return SchemaText("AVRO", orjson.dumps(_avro(shown)).decode())
    return SchemaText("JSON", orjson.dumps(_json_schema(shown)).decode())


def _avro(shown: Sequence[Shown]) -> dict[str, Any]:
    fields = []
    for one in shown:
        kind: Any = {"type": "array", "items": one.type} if one.many else one.type
        field = {"name": one.name, "type": ["null", kind] if one.null else kind, "doc": one.about}
        if one.null or one.default is not None:
            field["default"] = one.default
        fields.append(field)
    return {"type": "record", "name": "Release", "namespace": "fugu", "fields": fields}


def _json_schema(shown: Sequence[Shown]) -> dict[str, Any]:
    properties = {}
    for one in shown:
        kind: Any = {"type": _JSON_TYPES[one.type]}
        if one.many:
            kind = {"type": "array", "items": kind}
        if one.null:
            kind = {"oneOf": [{"type": "null"}, kind]}
        properties[one.name] = kind | {"description": one.about}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Release",
        "type": "object",
        "properties": properties,
        "required": [one.name for one in shown if not one.null and one.default is None],
        "additionalProperties": False,
    }


def writer_of(shown: Sequence[Shown]) -> Callable[[bytes], bytes]:
    """Return what makes Avro of a release in JSON."""
    from fastavro import parse_schema, schemaless_writer

    schema, absent = parse_schema(_avro(shown)), _absent(shown)

    def write(content: bytes) -> bytes:
        stream = BytesIO()
        schemaless_writer(stream, schema, absent | orjson.loads(content))
        return stream.getvalue()

    return write


def _absent(shown: Sequence[Shown]) -> dict[str, object]:
    return {one.name: one.default for one in shown if one.null or one.default is not None}
