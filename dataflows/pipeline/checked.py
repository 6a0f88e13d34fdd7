"""Check that what was read from JSON is of the declared types, and no number is absurd."""

from functools import cache
from math import inf
from typing import Any, TypeVar, get_type_hints

from pydantic import TypeAdapter

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
