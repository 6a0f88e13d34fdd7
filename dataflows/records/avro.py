"""Read records of Avro, whose schema says where their fields are.

Logical types are left aside: a time is the number that stands there. Decimals are numbers.

>>> schema = AvroSchema.of({"type": "record", "name": "R", "fields": [
...     {"name": "zone", "type": "string"}, {"name": "bpm", "type": ["null", "double"]}]}, ["bpm"])
>>> schema.read(b"\\x08rest\\x02\\x00\\x00\\x00\\x00\\x00\\x00\\xf8\\x3f")
{'zone': 'rest', 'bpm': 1.5}
"""

import io
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from typing import Any

import orjson

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.field_paths import steps_of
from fugu.dataflows.records.avro_types import DECIMAL, MOST_DIGITS, AvroTypes, Schema
from fugu.dataflows.records.json_fields import Refused
from fugu.dataflows.records.unusable_schema import UnusableSchema

_DIGITS = Context(prec=MOST_DIGITS)
_LONGEST_DECIMAL = (10**MOST_DIGITS).bit_length() // 8 + 1
"""The most bytes that it takes, with its sign."""


class AvroSchema:
    """Read content of one schema, whole."""

    def __init__(self, parsed: Schema) -> None:
        from fastavro import schemaless_reader

        self._parsed, self._read = parsed, schemaless_reader

    @classmethod
    def of(
        cls, schema: Schema, names: Sequence[str], others: Mapping[str, Schema] | None = None
    ) -> "AvroSchema":
        """Check a schema, and those that it refers to by name; `UnusableSchema` says why not.

        A schema that holds one of the fields in none of its records is not used, nor one by which a
        few bytes could become very much (`avro_types`).
        """
        from fastavro.read import LOGICAL_READERS
        from fastavro.schema import parse_schema

        for kind in ("bytes", "fixed"):
            LOGICAL_READERS[f"{kind}-{DECIMAL}"] = _decimal
        types, named = AvroTypes(), dict[str, Schema]()
        try:
            beside = [types.taken(other) for other in (others or {}).values()]
            plain = types.taken(schema)
            types.measure(plain)
            lacking = [one for one in names if not types.can_hold(plain, "", steps_of(one))]
            for other in beside:
                parse_schema(other, named_schemas=named)
            parsed = parse_schema(plain, named_schemas=named)
        except UnusableSchema:
            raise
        except Exception as error:  # of whatever kind fastavro has
            raise UnusableSchema(f"is no schema of Avro ({type(error).__name__})") from None
        if lacking:
            raise UnusableSchema(f"has no {lacking[0]}")
        return cls(parsed)

    def check(self) -> None:
        """Pass: a schema that cannot hold the fields is not compiled."""

    def read(self, content: bytes) -> object:
        """Return the value; `Refused` if content is not as the schema says, to its last byte."""
        stream = io.BytesIO(content)
        try:
            value: object = self._read(stream, self._parsed, None)
        except Exception:  # of whatever kind fastavro has for such content
            raise Refused(Reason.NOT_AS_SCHEMA) from None
        if stream.tell() != len(content):
            raise Refused(Reason.NOT_AS_SCHEMA)
        return value


def _decimal(content: Any, schema: dict[Any, Any] | None, _: dict[Any, Any] | None) -> Any:
    """Return the number of JSON that a decimal is; `ValueError` where it has too many digits."""
    assert schema is not None
    unscaled = int.from_bytes(content[: _LONGEST_DECIMAL + 1], "big", signed=True)
    if len(content) > _LONGEST_DECIMAL or abs(unscaled) >= 10 ** schema["precision"]:
        raise ValueError("a decimal has more digits than its schema says")
    return orjson.loads(format(Decimal(unscaled).scaleb(-schema["scale"], _DIGITS), "f"))
