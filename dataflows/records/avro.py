"""Read records of Avro, whose schema says where their fields are.

Logical types are left aside: a time is the number that stands there. Decimals are numbers.

>>> schema = AvroSchema.of({"type": "record", "name": "R", "fields": [
...     {"name": "zone", "type": "string"}, {"name": "bpm", "type": ["null", "double"]}]}, ["bpm"])
>>> schema.read(b"\\x08rest\\x02\\x00\\x00\\x00\\x00\\x00\\x00\\xf8\\x3f")
{'zone': 'rest', 'bpm': 1.5}
"""

import io
import struct
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import orjson

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.field_paths import Step, steps_of
from fugu.dataflows.records.json_fields import Refused
from fugu.dataflows.records.unusable_schema import UnusableSchema

Schema = Any
"""A name, a list of alternatives, or a dictionary, as JSON has it."""
_PRIMITIVES = {
    **{"null": 0, "boolean": 1, "int": 1, "long": 1, "float": 4, "double": 8},
    **{"bytes": 1, "string": 1},
}
"""The fewest bytes of a value."""
_LARGEST = 10_000
"""Types that are used again and again stand for more than is written down."""
_UNREADABLE = (
    *(ValueError, LookupError, EOFError, ArithmeticError, TypeError, MemoryError),
    *(AttributeError, struct.error),
)
"""What fastavro raises over content that is not as its schema says."""


class AvroSchema:
    """Read content of one schema, whole."""

    def __init__(self, parsed: Schema, decimals: bool) -> None:
        from fastavro import schemaless_reader

        self._parsed, self._decimals = parsed, decimals
        self._read = schemaless_reader

    @classmethod
    def of(
        cls, schema: Schema, names: Iterable[str], others: Mapping[str, Schema] | None = None
    ) -> "AvroSchema":
        """Compile a schema, and those that it refers to by name; `UnusableSchema` says why not.

        A schema that holds one of the fields in none of its records is not used, nor one by which a
        few bytes could become very much: one that holds itself, many items of no bytes, or too many
        parts.
        """
        from fastavro.schema import parse_schema

        try:
            types = _Types()
            for other in (others or {}).values():
                types.collect(other, "")
            types.collect(schema, "")
            types.measure(schema, "", ())
            lacking = [one for one in names if not types.can_hold(schema, "", steps_of(one))]
            plain, decimals = _without_logical_types(schema)
            named: dict[str, Schema] = {}
            for other in (others or {}).values():
                parse_schema(_without_logical_types(other)[0], named_schemas=named)
            parsed = parse_schema(plain, named_schemas=named)
        except UnusableSchema:
            raise
        except Exception as error:  # of whatever kind fastavro has
            raise UnusableSchema(f"is no schema of Avro ({type(error).__name__})") from None
        if lacking:
            raise UnusableSchema(f"has no {lacking[0]}")
        return cls(parsed, decimals)

    def read(self, content: bytes) -> object:
        """Return the value; `Refused` if content is not as the schema says, to its last byte."""
        stream = io.BytesIO(content)
        try:
            read: object = self._read(stream, self._parsed, None)
            value = _with_numbers(read) if self._decimals else read
        except _UNREADABLE:
            raise Refused(Reason.NOT_AS_SCHEMA) from None
        if stream.tell() != len(content):
            raise Refused(Reason.NOT_AS_SCHEMA)
        return value


class _Types:
    """Hold named types, to follow names."""

    def __init__(self) -> None:
        self._named: dict[str, tuple[Schema, str]] = {}
        self._measured = 0

    def collect(self, schema: Schema, space: str) -> None:
        if isinstance(schema, list):
            for one in schema:
                self.collect(one, space)
        elif isinstance(schema, dict):
            kind = schema["type"]
            if kind in ("record", "error", "enum", "fixed"):
                name = _full_name(schema["name"], schema.get("namespace", space))
                space = name.rpartition(".")[0]
                self._named[name] = schema, space
            for one in schema.get("fields", []):
                self.collect(one["type"], space)
            for key in ("items", "values"):
                if key in schema:
                    self.collect(schema[key], space)
            if isinstance(kind, dict | list):
                self.collect(kind, space)

    def resolved(self, schema: Schema, space: str) -> tuple[Schema, str]:
        """Return what a name stands for, and the namespace inside of it."""
        if isinstance(schema, dict) and isinstance(schema["type"], dict | list):
            return self.resolved(schema["type"], space)
        if isinstance(schema, dict) and "name" in schema:
            name = _full_name(schema["name"], schema.get("namespace", space))
            return schema, name.rpartition(".")[0]
        if isinstance(schema, dict) and schema["type"] not in ("array", "map"):
            return self.resolved(schema["type"], space)
        if isinstance(schema, str) and schema not in _PRIMITIVES:
            return self._named[_full_name(schema, space)]
        return schema, space

    def measure(self, schema: Schema, space: str, outer: tuple[str, ...]) -> int:
        """Return the fewest bytes of a value; `UnusableSchema` where there may be no end."""
        self._measured += 1
        if self._measured > _LARGEST:
            raise UnusableSchema(f"stands for more than {_LARGEST:,} parts")
        schema, space = self.resolved(schema, space)
        if isinstance(schema, str):
            return _PRIMITIVES[schema]
        if isinstance(schema, list):
            return 1 + min(self.measure(one, space, outer) for one in schema)
        match schema["type"]:
            case "array" | "map" as kind:
                inner = self.measure(schema["items" if kind == "array" else "values"], space, outer)
                if inner == 0 and kind == "array":
                    raise UnusableSchema("has lists whose items take no bytes")
                return 1
            case "enum":
                return 1
            case "fixed":
                return int(schema["size"])
        name = _full_name(schema["name"], schema.get("namespace", space))
        if name in outer:
            raise UnusableSchema("has a type that holds itself")
        own = (self.measure(one["type"], space, (*outer, name)) for one in schema["fields"])
        return sum(own)

    def can_hold(self, schema: Schema, space: str, steps: tuple[Step, ...]) -> bool:
        """Return whether some value has something where a path leads."""
        schema, space = self.resolved(schema, space)
        if isinstance(schema, list):
            return any(self.can_hold(one, space, steps) for one in schema)
        if not steps:
            return True
        if isinstance(schema, str):
            return False
        first, *rest = steps
        if schema["type"] == "array" and isinstance(first, int):
            return self.can_hold(schema["items"], space, tuple(rest))
        if schema["type"] == "map" and isinstance(first, str):
            return self.can_hold(schema["values"], space, tuple(rest))
        return any(
            one["name"] == first and self.can_hold(one["type"], space, tuple(rest))
            for one in schema.get("fields", [])
        )


def _full_name(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"


def _without_logical_types(schema: Schema) -> tuple[Schema, bool]:
    """Return a schema without logical types other than decimals, and whether it has those."""
    if isinstance(schema, list):
        parts = [_without_logical_types(one) for one in schema]
        return [part for part, _ in parts], any(has for _, has in parts)
    if not isinstance(schema, dict):
        return schema, False
    decimal = schema.get("logicalType") == "decimal"
    kept = {key: one for key, one in schema.items() if decimal or key != "logicalType"}
    has = decimal
    for key in ("type", "items", "values"):
        if key in kept:
            kept[key], inside = _without_logical_types(kept[key])
            has = has or inside
    if "fields" in kept:
        fields = [{**one, "type": _without_logical_types(one["type"])} for one in kept["fields"]]
        has = has or any(one["type"][1] for one in fields)
        kept["fields"] = [{**one, "type": one["type"][0]} for one in fields]
    return kept, has


def _with_numbers(value: object) -> object:
    """Return a value with numbers of JSON in the place of decimals."""
    if isinstance(value, Decimal):
        return orjson.loads(format(value, "f"))
    if isinstance(value, dict):
        return {name: _with_numbers(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_with_numbers(one) for one in value]
    return value
