r"""Read records of Avro by their schema, which is checked before it is used.

A schema of a stranger may not make much of a few bytes, or read in circles.

>>> schema = AvroSchema.of({"type": "record", "name": "R", "fields": [
...     {"name": "zone", "type": "string"}, {"name": "bpm", "type": ["null", "double"]}]}, ["bpm"])
>>> schema.read(b"\x08rest\x02\x00\x00\x00\x00\x00\x00\xf8\x3f")
{'zone': 'rest', 'bpm': 1.5}
"""

import io
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from typing import Any

import orjson

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.errors import is_of_one_record
from fugu.dataflows.base.field_paths import Step, steps_of
from fugu.dataflows.records.json_fields import Refused, UnusableSchema

Schema = Any
"""A name, a list of alternatives, or a dictionary, as JSON has it."""
DECIMAL = "fugu-decimal"
"""The name of the logical type by which decimals are read as numbers of JSON."""
MOST_DIGITS = 1_000
_PRIMITIVES = {
    **{"null": 0, "boolean": 1, "int": 1, "long": 1, "float": 4, "double": 8},
    **{"bytes": 1, "string": 1},
}
"""The fewest bytes of a value."""
_TAKEN = {*_PRIMITIVES, "record", "error", "enum", "fixed", "array", "map", "union"}
_LARGEST = 10_000
"""Types that are used again and again stand for more than is written down."""
_DEEPEST = 100
_LARGEST_FIXED = 10_000_000
_VALUES_A_BYTE = 8


class AvroTypes:
    """Hold named types, to follow names."""

    def __init__(self) -> None:
        self._named: dict[str, tuple[Schema, str]] = {}
        self._measured = 0

    def taken(self, schema: Schema, space: str = "", depth: int = 0) -> Schema:
        """Return a schema with nothing but what reading takes, and note its named types.

        Decimals are the only logical types that are left.
        """
        _refuse_deep(depth)
        if isinstance(schema, str):
            return schema
        if isinstance(schema, list):
            return [self.taken(one, space, depth + 1) for one in schema]
        kind = schema["type"]
        kept: dict[str, Schema] = {}  # a name that others give to other types says nothing
        if kind in ("record", "error", "enum", "fixed"):
            kept = {key: schema[key] for key in ("name", "namespace", "symbols") if key in schema}
            name = full_name(kept["name"], kept.get("namespace", space))
            space = name.rpartition(".")[0]
            if name in self._named or name in _TAKEN:
                raise UnusableSchema("gives one name to two types")
            self._named[name] = kept, space
        kept["type"] = kind if isinstance(kind, str) else self.taken(kind, space, depth + 1)
        if kind in ("record", "error"):
            kept["fields"] = [
                {"name": _text(one["name"]), "type": self.taken(one["type"], space, depth + 1)}
                for one in schema["fields"]
            ]
        elif kind in ("array", "map"):
            key = "items" if kind == "array" else "values"
            kept[key] = self.taken(schema[key], space, depth + 1)
        elif kind == "fixed":
            kept["size"] = _number(schema["size"], 0, _LARGEST_FIXED, "a size")
        if kind in ("bytes", "fixed") and schema.get("logicalType") == "decimal":
            digits = _number(schema["precision"], 1, MOST_DIGITS, "a precision")
            scale = _number(schema.get("scale", 0), 0, digits, "a scale")
            kept |= {"logicalType": DECIMAL, "precision": digits, "scale": scale}
        return kept

    def resolved(self, schema: Schema, space: str) -> tuple[Schema, str]:
        """Return what a name stands for, and the namespace inside of it."""
        if isinstance(schema, dict) and isinstance(schema["type"], dict | list):
            return self.resolved(schema["type"], space)
        if isinstance(schema, dict) and "name" in schema:
            name = full_name(schema["name"], schema.get("namespace", space))
            return schema, name.rpartition(".")[0]
        if isinstance(schema, dict) and schema["type"] not in ("array", "map"):
            return self.resolved(schema["type"], space)
        if isinstance(schema, str) and schema not in _PRIMITIVES:
            return self._named[full_name(schema, space)]
        return schema, space

    def measure(self, schema: Schema, space: str = "", outer: tuple[str, ...] = ()) -> int:
        """Return how many values there are at most beyond eight for each byte.

        What stands in a list or a map may be none beyond: a few bytes would become as many values
        as they like. `UnusableSchema` says so, or that there may be no end.
        """
        self._measured += 1
        if self._measured > _LARGEST:
            raise UnusableSchema(f"stands for more than {_LARGEST:,} parts")
        _refuse_deep(len(outer))
        schema, space = self.resolved(schema, space)
        if isinstance(schema, str):
            return 1 - _VALUES_A_BYTE * _PRIMITIVES[schema]
        if isinstance(schema, list):
            inner = (*outer, "")
            return max(self.measure(one, space, inner) for one in schema) - _VALUES_A_BYTE
        match schema["type"]:
            case "array" | "map" as kind:
                inner = (*outer, "")
                item = self.measure(schema["items" if kind == "array" else "values"], space, inner)
                if item > (0 if kind == "array" else _VALUES_A_BYTE - 1):
                    raise UnusableSchema("has lists whose items take hardly any bytes")
                return 1 - _VALUES_A_BYTE
            case "enum":
                return 1 - _VALUES_A_BYTE
            case "fixed":
                return 1 - _VALUES_A_BYTE * int(schema["size"])
        name = full_name(schema["name"], schema.get("namespace", space))
        if name in outer:
            raise UnusableSchema("has a type that holds itself")
        inner = (*outer, name)
        return 1 + sum(self.measure(one["type"], space, inner) for one in schema["fields"])

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


def full_name(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"


def _refuse_deep(depth: int) -> None:
    if depth > _DEEPEST:
        raise UnusableSchema(f"is nested more than {_DEEPEST} deep")


def _text(name: object) -> str:
    if not isinstance(name, str):
        raise UnusableSchema("has a name that is no text")
    return name


def _number(number: object, least: int, most: int, what: str) -> int:
    if type(number) is not int or not least <= number <= most:
        raise UnusableSchema(f"has {what} that is no number from {least} to {most:,}")
    return number


_DIGITS = Context(prec=MOST_DIGITS)
_LONGEST_DECIMAL = (10**MOST_DIGITS).bit_length() // 8 + 1
"""The most bytes that it takes, with its sign."""


class AvroSchema:
    """Read content of one schema, whole.

    Logical types are left aside: a time is the number that stands there. Decimals are numbers.
    """

    def __init__(self, parsed: Schema) -> None:
        from fastavro import schemaless_reader

        self._parsed, self._read = parsed, schemaless_reader

    @classmethod
    def of(
        cls, schema: Schema, names: Sequence[str], others: Mapping[str, Schema] | None = None
    ) -> "AvroSchema":
        """Check a schema, and those that it refers to by name; `UnusableSchema` says why not.

        A schema that holds one of the fields in none of its records is not used, nor one by which a
        few bytes could become very much (`AvroTypes`).
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
            if not is_of_one_record(error):
                raise
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
    written = format(Decimal(unscaled).scaleb(-schema["scale"], _DIGITS), "f")
    try:
        return orjson.loads(written)
    except orjson.JSONDecodeError:  # it is beyond all doubles
        return float(written)
