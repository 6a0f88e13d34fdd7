"""Write guarantees as JSON has them, read them back, and name them by a short id."""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from hashlib import blake2b
from math import inf
from typing import Any, TypeVar, get_args, get_type_hints

import orjson
from pydantic import TypeAdapter

from fugu.operators.guarantee import Guarantee, Loss, Neighbours, Point

Read = TypeVar("Read")
_LARGEST = 2**63
"""Bound what may be added and multiplied without an overflow of doubles."""


def checked(read: Read) -> Read:
    """Return a dataclass whose fields were read from JSON; `ValueError` names one that is wrong.

    A field is wrong that is of another type than it declares, or a number below 0 or beyond 2^63:
    but for infinity, which says that there is no bound.
    """
    kind: type = type(read)
    for name, field in _fields(kind).items():
        value = getattr(read, name)
        field.validate_python(value, strict=True)
        if isinstance(value, int | float) and not (0 <= value <= _LARGEST or value == inf):
            raise ValueError(f"{name}: not a number that can be counted")
    return read


@cache
def _fields(kind: type) -> dict[str, TypeAdapter[Any]]:
    return {name: TypeAdapter(hint) for name, hint in get_type_hints(kind).items()}


_LOSSES = {kind.__name__: kind for kind in get_args(Loss)}


def guarantee_id(guarantees: Sequence[Guarantee]) -> bytes:
    """Return 16 hexadecimal digits that name exactly these promises, however they are worded."""
    content = orjson.dumps([_identity(guarantee) for guarantee in guarantees])
    return blake2b(content, digest_size=8).hexdigest().encode()


def guarantee_data(guarantee: Guarantee) -> dict[str, Any]:
    """Return all fields: points have their sentences for people, and the loss has its type."""
    data: dict[str, Any] = _data(guarantee)
    return data


def read_guarantee(data: dict[str, Any]) -> Guarantee:
    """Return what `guarantee_data` was made of; numbers without a bound are null in JSON.

    Raises `AttributeError`, `KeyError`, `TypeError` or `ValueError` for anything else.
    """
    points = {name: read_point(data[name]) for name in ("adversary", "trust", "proof")}
    lists = {
        name: tuple(map(read_point, data[name]))
        for name in ("accounting", "assumptions", "not_covered")
    }
    epsilon = inf if data["epsilon"] is None else data["epsilon"]
    typed = {"neighbours": _read_neighbours(data["neighbours"]), "loss": _read_loss(data["loss"])}
    guarantee = Guarantee(**{**data, **points, **lists, **typed, "epsilon": epsilon})
    if guarantee.per in ("window", "period") and guarantee.window is None:
        raise ValueError("window: missing")
    if 0 in (guarantee.window, guarantee.tick_milliseconds):
        raise ValueError("window, tick_milliseconds: must be at least 1")
    return checked(guarantee)


def point_in_words(name: str, words: str) -> Point:
    """Return a point whose sentence is complete: whatever is in it, it has no fields."""
    return Point(name, words.replace("{", "{{").replace("}", "}}"))


def read_point(data: dict[str, Any]) -> Point:
    """Return a point with the sentence that it was written with."""
    return checked(point_in_words(data["name"], data["sentence"]).of(**data["numbers"]))


def _read_neighbours(data: dict[str, Any]) -> Neighbours:
    return checked(Neighbours(**{**data, "kept": tuple(data["kept"])}))


def _read_loss(data: dict[str, Any] | None) -> Loss | None:
    if data is None:
        return None
    content = {name: entry for name, entry in data.items() if name != "type"}
    loss: Loss = _LOSSES[data["type"]](**content)
    return checked(loss)


def _data(value: Any) -> Any:
    if isinstance(value, Point):
        numbers = dict(value.numbers)
        return {"name": value.name, "numbers": numbers, "sentence": str(value)}
    if isinstance(value, tuple):
        return [_data(one) for one in value]
    if not is_dataclass(value):
        return value
    content = {field.name: _data(getattr(value, field.name)) for field in fields(value)}
    return {"type": type(value).__name__, **content} if isinstance(value, Loss) else content


def _identity(value: Any) -> Any:
    """Return names and numbers alone, without what is as it is by default."""
    if isinstance(value, Point):
        return [value.name, dict(value.numbers)]
    if isinstance(value, tuple):
        return [_identity(one) for one in value]
    if not is_dataclass(value):
        return value
    told = {field.name: (getattr(value, field.name), field.default) for field in fields(value)}
    return [
        type(value).__name__,
        {name: _identity(one) for name, (one, default) in told.items() if one != default},
    ]
