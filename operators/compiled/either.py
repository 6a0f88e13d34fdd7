"""Compile functions where there is numba, and leave them to the interpreter where there is none.

It is one source, in whole numbers, so that both give the same results; the interpreter takes about
ten times as long. It reads arrays through views whose items are Python's integers.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

import fugu.operators.compiled as compiled

Function = TypeVar("Function", bound=Callable[..., Any])


def entry_point(function: Function) -> Function:
    """Return the function for callers in Python, whose arguments are arrays, tuples of arrays, and
    integers."""
    if compiled.available():
        from fugu.operators.compiled.compiling import entry_point as compiled_entry_point

        return compiled_entry_point(function)

    @wraps(function)
    def interpreted(*arguments: Any) -> Any:
        return function(*map(_viewed, arguments))

    return cast("Function", interpreted)


def part(function: Function) -> Function:
    """Return the function for entry points that call it."""
    if compiled.available():
        from fugu.operators.compiled.compiling import part as compiled_part

        return compiled_part(function)
    return function


def _viewed(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return argument.data
    if isinstance(argument, tuple):
        return type(argument)(*map(_viewed, argument))
    return argument
