"""Describe what releases hold as a schema, and write their JSON by it.

A schema depends on how a kind releases, and on the name of the field alone: not on the alphabet,
and not on numbers of the law. So it stays the same where a pipeline changes those. A later version
of Fugu may add fields that have defaults, which readers of before pass over.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Literal

import orjson

from fugu.dataflows.base.field_paths import released_name
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.codec import Values
from fugu.dataflows.records.registered import SchemaText
from fugu.dataflows.records.unusable_schema import UnusableSchema

ReleaseKind = Literal["avro", "json_schema"]
_AVRO_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_JSON_TYPES = {"string": "string", "long": "integer", "double": "number", "boolean": "boolean"}
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
    """Return the fields of releases; `UnusableSchema` where they have none that are fixed."""
    form = values.released_as
    if form in ("payload", "figures", "person"):
        raise UnusableSchema(f"releases of this kind ({form}) have no fixed fields; leave it out")
    name, symbol = released_name(values.field), "string"
    if isinstance(values, Alphabet) and isinstance(next(iter(values.index)), int):
        symbol = "long"
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


@dataclass(frozen=True)
class ReleaseSchema:
    """Hold the kind of a schema of releases, and the fields that it has."""

    kind: ReleaseKind
    shown: tuple[Shown, ...]

    @property
    def text(self) -> SchemaText:
        """Return the schema as a registry has it."""
        return schema_text(self.kind, self.shown)


def release_schema(kind: ReleaseKind, values: Values) -> ReleaseSchema:
    """Return the schema of releases; `UnusableSchema` where they have none of this kind."""
    schema = ReleaseSchema(kind, shown_by(values))
    _ = schema.text
    return schema


def schema_text(kind: ReleaseKind, shown: Sequence[Shown]) -> SchemaText:
    """Return the schema of fields; `UnusableSchema` where Avro has no such names.

    >>> schema_text("avro", [Shown("watts", "double", "the released number")]).kind
    'AVRO'
    """
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
