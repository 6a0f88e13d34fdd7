"""Print what a pipeline file may say: as JSON Schema for editors, or as the page of reference.

Both are made from the sections themselves, so that they cannot say anything else.
"""

from collections.abc import Iterator
from functools import cache
from inspect import cleandoc
from typing import Annotated, Any

import orjson
import typer

from fugu.dataflows.base.section import described_schema
from fugu.dataflows.base.ticks import DURATION_PATTERN, between
from fugu.dataflows.commands.output import print_json
from fugu.dataflows.kinds import KINDS
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.publishing.promise import promise_schema

Schema = dict[str, Any]

_HEAD = """\
# All keys of a pipeline file

This page is generated: `fugu schema --markdown`. `fugu schema` prints the same as JSON Schema,
with which editors check a file while it is written. `fugu init` writes a file to begin with.

Paths are relative to the pipeline file. A duration has its unit, such as `500ms`, `1s`, `15m` or
`1d`. A key with a dot stands below the key before the dot.
"""
_OPERATOR = """\
## `operator`

{does} Required. `kind` says which of these it is; all other keys depend on it.
"""


def schema(
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the page of reference.")
    ] = False,
    of_promises: Annotated[
        bool,
        typer.Option("--promise", help="Print the JSON Schema of the promise beside a topic."),
    ] = False,
) -> None:
    """Print every key of a pipeline file, as JSON Schema for editors."""
    if of_promises:
        print_json(promise_schema())
    elif as_markdown:
        print(markdown(), end="")
    else:
        print_json(json_schema())


@cache
def json_schema() -> Schema:
    """Return the JSON Schema of pipeline files."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **described_schema(Pipeline),
    }


def markdown() -> str:
    """Write the page of reference."""
    whole = json_schema()
    definitions = whole["$defs"]
    parts = [_HEAD]
    plain = {
        name: entry for name, entry in whole["properties"].items() if not _below(entry, definitions)
    }
    parts.append("## The file\n\n" + _table(plain, whole["required"], definitions))
    for name, entry in whole["properties"].items():
        if name == "operator":
            parts += [_OPERATOR.format(does=entry["description"]), *_operators(definitions)]
        elif name not in plain:
            [section] = _below(entry, definitions)
            told = f"## `{name}`\n\n{entry['description']}"
            told += " Required.\n\n" if name in whole["required"] else " May be left out.\n\n"
            rows = _table(section["properties"], section.get("required", []), definitions)
            parts.append(told + rows)
    return "\n".join(parts)


def _operators(definitions: Schema) -> Iterator[str]:
    """Write a table for all kinds that have the same keys."""
    alike: dict[str, list[str]] = {}
    for kind, section in KINDS.items():
        found = definitions[section.__name__]
        keys = {name: entry for name, entry in found["properties"].items() if name != "kind"}
        alike.setdefault(_table(keys, found["required"], definitions), []).append(kind)
    for table, kinds in alike.items():
        names = ", ".join(f"`{kind}`" for kind in kinds)
        does = "".join(f"- `{kind}`: {_first_line(KINDS[kind])}\n" for kind in kinds)
        yield f"### {names}\n\n{does}\n{table}"


def _first_line(section: type[object]) -> str:
    return cleandoc(section.__doc__ or "").split("\n")[0]


def _table(entries: Schema, required: list[str], definitions: Schema) -> str:
    lines = ["| key | what it is | what may be written | without it |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in _rows(entries, required, definitions, "")]
    return "\n".join(lines) + "\n"


def _rows(
    entries: Schema, required: list[str], definitions: Schema, above: str
) -> Iterator[tuple[str, str, str, str]]:
    for name, entry in entries.items():
        key = f"{above}{name}"
        default = "required" if name in required else _default(entry)
        description = " ".join(entry.get("description", "").split())
        yield f"`{key}`", description, _written(entry, definitions), default
        for section in _below(entry, definitions):
            needed = section.get("required", [])
            yield from _rows(section["properties"], needed, definitions, f"{key}.")


def _below(entry: Schema, definitions: Schema) -> list[Schema]:
    """Return the sections that may stand below a key, in any of its forms."""
    if "$ref" in entry:
        return [definitions[entry["$ref"].rsplit("/", 1)[1]]]
    forms = [*entry.get("anyOf", []), *entry.get("oneOf", [])]
    return [section for form in forms for section in _below(form, definitions)]


def _default(entry: Schema) -> str:
    default = entry.get("default")
    if default is None or isinstance(default, dict):
        return ""
    if entry.get("pattern") == DURATION_PATTERN:
        return f"`{between('0s', '366d')(default).total_seconds():g}s`"
    return f"`{default if isinstance(default, str) else orjson.dumps(default).decode()}`"


def _written(entry: Schema, definitions: Schema) -> str:
    """Say in words what may be written for a key."""
    forms = [*entry.get("anyOf", []), *entry.get("oneOf", [])]
    if forms:
        said = [_written(form, definitions) for form in forms if form.get("type") != "null"]
        return " or ".join(dict.fromkeys(said))
    if "$ref" in entry or entry.get("type") == "object":
        return _section(entry, definitions)
    if "const" in entry:
        return f"`{entry['const']}`"
    if "enum" in entry:
        return ", ".join(f"`{choice}`" for choice in entry["enum"])
    match entry.get("type"):
        case "array":
            return f"a list (each: {_written(entry['items'], definitions)})"
        case "boolean":
            return "`true`, `false`"
        case "integer":
            return "a whole number" + _limits(entry)
        case "number":
            return "a number" + _limits(entry)
    return "a duration" if entry.get("pattern") == DURATION_PATTERN else "text"


def _section(entry: Schema, definitions: Schema) -> str:
    if "$ref" in entry:
        return "a section"
    if "properties" not in entry:
        patterns = iter(entry.get("patternProperties", {}).values())
        named = entry.get("additionalProperties") or next(patterns, None)
        if not isinstance(named, dict):
            return "a tree of names"
        return f"a section of names (each: {_written(named, definitions)})"
    return "`{" + ", ".join(f"{key}: ..." for key in entry["properties"]) + "}`"


def _limits(entry: Schema) -> str:
    said = [
        f"{word} {entry[key]:,}"
        for key, word in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "above"),
            ("maximum", "at most"),
            ("exclusiveMaximum", "below"),
        )
        if key in entry
    ]
    return f", {', '.join(said)}" if said else ""
