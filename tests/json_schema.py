"""Check data against a JSON Schema, as far as schemas of pipeline files go.

A keyword that is not known here is an error, so that no schema passes for being hardly read.
"""

import re
from collections.abc import Iterator
from operator import ge, gt, le, lt
from typing import Any

_NOTES = {"title", "description", "default", "discriminator", "$schema", "$defs"}
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}
_LIMITS = {"minimum": ge, "maximum": le, "exclusiveMinimum": gt, "exclusiveMaximum": lt}


def problems(data: Any, schema: dict[str, Any], whole: dict[str, Any]) -> Iterator[str]:
    """List what of `data` is not as a part of the schema `whole` says."""
    for keyword, wanted in schema.items():
        if keyword not in _NOTES:
            yield from _problems(keyword, wanted, data, schema, whole)


def _problems(
    keyword: str, wanted: Any, data: Any, schema: dict[str, Any], whole: dict[str, Any]
) -> Iterator[str]:
    number = isinstance(data, int | float) and not isinstance(data, bool)
    match keyword:
        case "$ref":
            yield from problems(data, whole["$defs"][wanted.removeprefix("#/$defs/")], whole)
        case "anyOf" | "oneOf":
            found = [list(problems(data, form, whole)) for form in wanted]
            fits = found.count([])
            if fits == 0 or (keyword == "oneOf" and fits > 1):
                yield f"{data!r} fits {fits} of {keyword}"
        case "type":
            bool_as_number = isinstance(data, bool) and wanted in ("integer", "number")
            if not isinstance(data, _TYPES[wanted]) or bool_as_number:
                yield f"{data!r} is no {wanted}"
        case "const" | "enum":
            if data not in (wanted if keyword == "enum" else [wanted]):
                yield f"{data!r} is not {wanted}"
        case "pattern":
            if isinstance(data, str) and not re.search(wanted, data):
                yield f"{data!r} does not match"
        case "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum":
            if number and not _LIMITS[keyword](data, wanted):
                yield f"{data!r} is beyond {keyword}"
        case "minLength" | "minItems":
            if isinstance(data, str | list) and len(data) < wanted:
                yield f"{data!r} is too short"
        case "minProperties":
            if isinstance(data, dict) and len(data) < wanted:
                yield "too few names"
        case "patternProperties":
            for pattern, form in wanted.items():
                for name in data if isinstance(data, dict) else {}:
                    if re.search(pattern, name):
                        yield from (f"{name}: {one}" for one in problems(data[name], form, whole))
        case "maxItems":
            if isinstance(data, list) and len(data) > wanted:
                yield "the list is too long"
        case "items":
            for item in data if isinstance(data, list) else []:
                yield from problems(item, wanted, whole)
        case "properties":
            for name in wanted.keys() & (data if isinstance(data, dict) else {}):
                yield from (f"{name}: {one}" for one in problems(data[name], wanted[name], whole))
        case "required":
            if isinstance(data, dict):
                yield from (f"{name} is missing" for name in wanted if name not in data)
        case "additionalProperties":
            assert wanted is False
            if isinstance(data, dict):
                yield from (f"{name} is unknown" for name in data.keys() - schema["properties"])
        case _:
            raise NotImplementedError(keyword)
