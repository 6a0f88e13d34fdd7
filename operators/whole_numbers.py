"""Take whole numbers where a configuration declares a float: `epsilon=1` is `epsilon=1.0`.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Configured:
...     window: int
...     epsilon: float
...     shares: tuple[float, ...] = ()
...
...     def __post_init__(self) -> None:
...         take_whole_numbers(self)
>>> Configured(window=2, epsilon=1, shares=(1, 0))
Configured(window=2, epsilon=1.0, shares=(1.0, 0.0))
"""

from dataclasses import fields
from math import inf
from numbers import Integral
from typing import Any, get_args


def take_whole_numbers(configured: Any) -> None:
    """Turn integers into floats, in place, in all fields of a dataclass that declare floats."""
    for field in fields(configured):
        if field.init and float in (field.type, *get_args(field.type)):
            given = getattr(configured, field.name)
            taken = tuple(map(_taken, given)) if isinstance(given, tuple) else _taken(given)
            object.__setattr__(configured, field.name, taken)


def _taken(given: object) -> object:
    if not isinstance(given, Integral) or isinstance(given, bool):
        return given
    try:
        return float(given)
    except OverflowError:
        return inf if int(given) > 0 else -inf
