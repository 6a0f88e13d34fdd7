"""Dataclasses as plain JSON data: nothing is converted, and errors name the field."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from datetime import date, datetime
from types import UnionType
from typing import Any, Self, get_args, get_origin, get_type_hints

_LIKE = {date: "a date like 2024-05-01", datetime: "a local time like 2024-05-01T06:00:00"}
_KNOWN: dict[type[Any], dict[str, Any]] = {}


class PlainData:
    """Write a dataclass as plain JSON data, and read it strictly.

    Fields are integers, texts, truth values, dates, local times, tuples of them, or dataclasses of
    this kind; of two kinds of dataclasses, the one is read whose fields the data have.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Wash(PlainData):
    ...     id: str
    ...     hours: tuple[int, ...]
    >>> Wash.from_data(Wash("shower", (7, 8)).to_data())
    Wash(id='shower', hours=(7, 8))
    >>> Wash.from_data({"id": "shower", "hour": 2})
    Traceback (most recent call last):
    ...
    ValueError: wash shower: hour: is not known here; write id, hours
    """

    def to_data(self) -> dict[str, Any]:
        """Write it as plain JSON data."""
        return {name: _plain(getattr(self, name)) for name in _hints(type(self))}

    def to_bytes(self) -> bytes:
        """Write it as JSON."""
        return plain_json(self.to_data())

    @classmethod
    def from_data(cls, data: object) -> Self:
        """Read plain data; `ValueError` names the field, and whose it is if the data have an id."""
        if isinstance(data, cls):
            return data
        with _named(cls.__name__.lower(), data):
            hints = _hints(cls)
            given = _members(data, *hints)
            return cls(**{name: _read(name, hint, given[name]) for name, hint in hints.items()})


def plain_json(data: object) -> bytes:
    """Write data as JSON: the same bytes for the same data."""
    return json.dumps(data, sort_keys=True, separators=(",", ":")).encode()


def _hints(kind: type[Any]) -> dict[str, Any]:
    """Return the types of the fields of a dataclass, which takes long to find out."""
    if kind not in _KNOWN:
        hints = get_type_hints(kind)
        _KNOWN[kind] = {field.name: hints[field.name] for field in fields(kind) if field.init}
    return _KNOWN[kind]


def _plain(value: Any) -> object:
    if isinstance(value, PlainData):
        return value.to_data()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value


def _read(name: str, hint: Any, value: object) -> object:
    if isinstance(hint, UnionType):
        return _read(name, _one_of(get_args(hint), value), value)
    if get_origin(hint) is tuple:
        return _read_tuple(name, get_args(hint), value)
    if isinstance(hint, type) and issubclass(hint, PlainData):
        return hint.from_data(value)
    if hint is type(None):
        return None
    if hint is bool:
        if not isinstance(value, bool):
            raise ValueError(f"{name}: must be true or false")
        return value
    if hint is int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"{name}: must be an integer")
        return value
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name}: must be {_LIKE.get(hint, 'a text, and not empty')}")
    try:
        return value if hint is str else hint.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{name}: must be {_LIKE[hint]}") from None


def _read_tuple(name: str, hints: tuple[Any, ...], value: object) -> tuple[object, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{name}: must be a list")
    if hints[-1] is ...:
        return tuple(_read(name, hints[0], item) for item in value)
    if len(value) != len(hints):
        raise ValueError(f"{name}: must be lists of {len(hints)} items")
    return tuple(_read(name, hint, item) for hint, item in zip(hints, value, strict=True))


def _one_of(hints: tuple[Any, ...], value: object) -> Any:
    """Return None where that is the value, else the first kind whose fields it has, or the last."""
    if value is None and type(None) in hints:
        return type(None)
    kinds = [hint for hint in hints if hint is not type(None)]
    known = value.keys() if isinstance(value, Mapping) else set()
    fitting = [kind for kind in kinds[:-1] if known & (_hints(kind).keys() - _hints(kinds[-1]))]
    return (fitting or kinds[-1:])[0]


@contextmanager
def _named(what: str, data: object) -> Iterator[None]:
    """Let errors about the data say whose they are, if they have an id."""
    name = data.get("id") if isinstance(data, Mapping) else None
    try:
        yield
    except ValueError as error:
        if not isinstance(name, str):
            raise
        raise ValueError(f"{what} {name}: {error}") from None


def _members(data: object, *names: str) -> Mapping[str, object]:
    """Return the data if it is an object that has just these members; else raise `ValueError`."""
    if not isinstance(data, Mapping):
        raise ValueError(f"must be an object with {', '.join(names)}")
    for unknown in sorted(data.keys() - set(names)):
        raise ValueError(f"{unknown}: is not known here; write {', '.join(names)}")
    for missing in names:
        if missing not in data:
            raise ValueError(f"{missing}: is missing")
    return data
