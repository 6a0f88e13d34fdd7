"""Reads plain JSON data strictly: what is missing or unknown is named, and nothing is converted.

>>> members({"id": "shower", "lenght": 2}, "id", "length")
Traceback (most recent call last):
...
ValueError: lenght: is not known here; write id, length
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def named(what: str, data: object) -> Iterator[None]:
    """Errors about the data say whose they are, if they have an id."""
    name = data.get("id") if isinstance(data, Mapping) else None
    try:
        yield
    except ValueError as error:
        if not isinstance(name, str):
            raise
        raise ValueError(f"{what} {name}: {error}") from None


def members(data: object, *names: str) -> Mapping[str, object]:
    """The data, if it is an object that has just these members."""
    if not isinstance(data, Mapping):
        raise ValueError(f"must be an object with {', '.join(names)}")
    for unknown in sorted(data.keys() - set(names)):
        raise ValueError(f"{unknown}: is not known here; write {', '.join(names)}")
    for missing in names:
        if missing not in data:
            raise ValueError(f"{missing}: is missing")
    return data


def integer(name: str, value: object) -> int:
    """The value, if it is an integer."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{name}: must be an integer")
    return value


def text(name: str, value: object) -> str:
    """The value, if it is a text and not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name}: must be a text, and not empty")
    return value


def items(name: str, value: object) -> list[object]:
    """The value, if it is a list."""
    if not isinstance(value, list):
        raise ValueError(f"{name}: must be a list")
    return value


def plain_json(data: object) -> bytes:
    """The same bytes for the same data."""
    return json.dumps(data, sort_keys=True, separators=(",", ":")).encode()
