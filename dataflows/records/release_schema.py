"""Describe what releases hold as a schema, and write their JSON by it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import orjson

from fugu.dataflows.records.registered import SchemaKind, SchemaText
from fugu.dataflows.records.release_messages import message_text, message_writer
from fugu.dataflows.records.released_fields import Shown, shown_by
from fugu.dataflows.records.unusable_schema import UnusableSchema
from fugu.dataflows.records.values import Values

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
