"""Explain what is wrong with sections that people write: where, and what to write instead."""

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

_MOST_PROPOSED = 3

Location = list[str | int]
"""Keys and places in lists, from the outermost to what is meant."""

Path = tuple[str, ...]
"""Keys only, without places in lists."""

_BOUNDS = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}
"""Say a bound of a number in words, by the name that pydantic has for it."""


def problems(error: ValidationError, model: type[BaseModel]) -> Iterator[tuple[Location, str]]:
    """List the problems of content that is not a `model`, each with its place."""
    paths = _paths_of(model)
    known = {path[-1] for path in paths}
    for item in error.errors():
        location = _location(dict(item), known)
        yield location, _advice(dict(item), location, paths)


def _location(item: dict[str, Any], known: set[str]) -> Location:
    location = [part for part in item["loc"] if isinstance(part, int) or part in known]
    if item["type"] == "extra_forbidden":
        location = [*[part for part in item["loc"][:-1] if part in known], item["loc"][-1]]
    if item["type"] in ("union_tag_invalid", "union_tag_not_found"):
        location.append("kind")
    return location


def problems_at_keys(
    error: ValidationError, model: type[BaseModel]
) -> Iterator[tuple[Location, str]]:
    """List problems; one whose advice begins with a key of its section has the place of that key.

    Not for changes of policies: their places are in dead letters, and a replay repeats these.
    """
    paths = _paths_of(model)
    for location, advice in problems(error, model):
        yield _at_its_key(location, advice, paths)


def _at_its_key(location: Location, advice: str, paths: set[Path]) -> tuple[Location, str]:
    """Move a key of the section, with which advice may begin, from the advice to its place."""
    named, _, rest = advice.partition(": ")
    keys = tuple(named.split("."))
    section = tuple(part for part in location if isinstance(part, str))
    return ([*location, *keys], rest) if rest and (*section, *keys) in paths else (location, advice)


def _advice(item: dict[str, Any], location: Location, paths: set[Path]) -> str:
    kind, context = item["type"], item.get("ctx", {})
    if kind == "extra_forbidden":
        return _instead_of(tuple(part for part in location if isinstance(part, str)), paths)
    if kind == "union_tag_invalid":
        return kind_instead_of(context["tag"], re.findall(r"'([^']+)'", context["expected_tags"]))
    if kind in ("missing", "union_tag_not_found"):
        return "is required; add it"
    if kind == "value_error":
        return str(context["error"])
    if kind == "string_pattern_mismatch":
        return "use letters, digits, dot, underscore and minus only, at most 249 of them"
    message = in_words(item)
    if kind == "string_type":
        return message + "; put quotes around it if it is meant as text"
    if kind == "model_type":
        return "write a section: keys of its own, indented, one on each line"
    return message


def in_words(item: Mapping[str, Any]) -> str:
    """Return the message of one error of pydantic as the end of a sentence about a key."""
    if item["type"] in _BOUNDS:
        words, bound = _BOUNDS[item["type"]]
        return f"must be {words} {str(item['ctx'][bound]).removesuffix('.0')}"
    return str(item["msg"][0].lower() + item["msg"][1:])


def _instead_of(path: Path, paths: set[Path]) -> str:
    """Return what may have been meant by a key that is not known where it stands."""
    if path in paths:
        return "unknown key beside the other ones here; delete it, or correct those"
    *section, key = path
    elsewhere = sorted(one for one in paths if one[-1] == key)
    if elsewhere:
        return f"unknown key here; {_place_instead_of(path, elsewhere)}"
    beside = {one[-1] for one in paths if one[:-1] == tuple(section)}
    close = [one for one in sorted(beside) if one.lower() == key.lower()]
    close += get_close_matches(key, sorted(beside), n=1)
    return "unknown key" + (f"; did you mean {close[0]}?" if close else "; delete it")


def _place_instead_of(path: Path, elsewhere: list[Path]) -> str:
    """Return where a key may stand; one outside all sections is not proposed by its word alone."""
    *section, key = path
    names = [".".join(one) for one in elsewhere if one != (key,)][:_MOST_PROPOSED]
    said = [f"write it beside {section[0]}, not below"] if (key,) in elsewhere else []
    return "; ".join([*said, *([f"did you mean {' or '.join(names)}?"] if names else [])])


def kind_instead_of(tag: str, kinds: Iterable[str]) -> str:
    """Return which kinds may have been meant by one that is not there."""
    kinds = list(kinds)
    close = [kind for kind in kinds if tag and kind.startswith(tag)]
    close += [kind for kind in get_close_matches(tag, kinds) if kind not in close]
    meant = f"; did you mean {' or '.join(close[:_MOST_PROPOSED])}?" if close else ";"
    return f"there is no {tag!r}{meant} fugu kinds lists all"


def _paths_of(annotation: object, section: Path = ()) -> set[Path]:
    """Return every key that may be written below, with those of the sections around it."""
    paths = {path for argument in get_args(annotation) for path in _paths_of(argument, section)}
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            own = (*section, field.alias or name)
            paths |= {own} | _paths_of(field.annotation, own)
    return paths
