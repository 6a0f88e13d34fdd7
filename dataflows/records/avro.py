"""Read records of Avro, whose schema says where their fields are.

Logical types are left aside: a time is the number that stands there. Decimals are numbers.

>>> schema = AvroSchema.of({"type": "record", "name": "R", "fields": [
...     {"name": "zone", "type": "string"}, {"name": "bpm", "type": ["null", "double"]}]}, ["bpm"])
>>> schema.read(b"\\x08rest\\x02\\x00\\x00\\x00\\x00\\x00\\x00\\xf8\\x3f")
{'zone': 'rest', 'bpm': 1.5}
"""

import io
import struct
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING

import orjson

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.field_paths import steps_of
from fugu.dataflows.records.avro_types import AvroTypes, Schema
from fugu.dataflows.records.json_fields import Refused
from fugu.dataflows.records.unusable_schema import UnusableSchema

if TYPE_CHECKING:
    from fugu.dataflows.records.avro_program import Program

_UNREADABLE = (
    *(ValueError, LookupError, EOFError, ArithmeticError, TypeError, MemoryError),
    *(AttributeError, struct.error),
)
"""The errors that fastavro raises over content that is not as its schema says."""


class AvroSchema:
    """Read content of one schema, whole."""

    def __init__(
        self, parsed: Schema, decimals: bool, types: AvroTypes, schema: Schema, names: Sequence[str]
    ) -> None:
        from fastavro import schemaless_reader

        self._parsed, self._decimals = parsed, decimals
        self._types, self._schema, self._names = types, schema, names
        self._read = schemaless_reader

    @classmethod
    def of(
        cls, schema: Schema, names: Sequence[str], others: Mapping[str, Schema] | None = None
    ) -> "AvroSchema":
        """Compile a schema, and those that it refers to by name; `UnusableSchema` says why not.

        A schema that holds one of the fields in none of its records is not used, nor one by which a
        few bytes could become very much: one that holds itself, many items of no bytes, or too many
        parts.
        """
        from fastavro.schema import parse_schema

        try:
            types = AvroTypes()
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
        return cls(parsed, decimals, types, schema, names)

    @cached_property
    def program(self) -> "Program | None":
        """Return what compiled code reads the fields by, where it can; it needs numba."""
        from fugu.dataflows.records.avro_program import program_of

        if self._decimals:
            return None
        return program_of(self._types, self._schema, self._names)

    def check(self) -> None:
        """Pass: a schema that cannot hold the fields is not compiled."""

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
