"""Follow the names of types in a schema of Avro, and measure what they stand for."""

from typing import Any

from fugu.dataflows.base.field_paths import Step
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


class AvroTypes:
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
                name = full_name(schema["name"], schema.get("namespace", space))
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
            name = full_name(schema["name"], schema.get("namespace", space))
            return schema, name.rpartition(".")[0]
        if isinstance(schema, dict) and schema["type"] not in ("array", "map"):
            return self.resolved(schema["type"], space)
        if isinstance(schema, str) and schema not in _PRIMITIVES:
            return self._named[full_name(schema, space)]
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
        name = full_name(schema["name"], schema.get("namespace", space))
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


def full_name(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"
