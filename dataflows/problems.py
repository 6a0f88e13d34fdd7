"""What is wrong with sections that people write: where, and what to write instead."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

Location = list[str | int]
"""Keys and places in lists, from the outermost to what is meant."""


def problems(error: ValidationError, model: type[BaseModel]) -> Iterator[tuple[Location, str]]:
    """Of content that is not a `model`, each with its place."""
    known = _keys_of(model)
    for item in error.errors():
        yield _location(dict(item), known), _advice(dict(item), known)


def _location(item: dict[str, Any], known: set[str]) -> Location:
    location = [part for part in item["loc"] if isinstance(part, int) or part in known]
    if item["type"] == "extra_forbidden":
        location = [*[part for part in item["loc"][:-1] if part in known], item["loc"][-1]]
    if item["type"] in ("union_tag_invalid", "union_tag_not_found"):
        location.append("kind")
    return location


def _advice(item: dict[str, Any], known: set[str]) -> str:
    kind, context = item["type"], item.get("ctx", {})
    if kind == "extra_forbidden":
        close = get_close_matches(str(item["loc"][-1]), known, n=1)
        return "unknown key" + (f"; did you mean {close[0]}?" if close else "; delete it")
    if kind == "union_tag_invalid":
        return f"there is no {context['tag']!r}; write one of {context['expected_tags']}"
    if kind in ("missing", "union_tag_not_found"):
        return "is required; add it"
    if kind == "value_error":
        return str(context["error"])
    if kind == "string_pattern_mismatch":
        return "use letters, digits, dot, underscore and minus only, at most 249 of them"
    message = str(item["msg"][0].lower() + item["msg"][1:])
    if kind == "string_type":
        return message + "; put quotes around it if it is meant as text"
    if kind == "model_type":
        return "write a section: keys of its own, indented, one on each line"
    return message


def _keys_of(annotation: object) -> set[str]:
    """Every key that may be written somewhere below."""
    keys = {key for argument in get_args(annotation) for key in _keys_of(argument)}
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            keys |= {field.alias or name} | _keys_of(field.annotation)
    return keys
