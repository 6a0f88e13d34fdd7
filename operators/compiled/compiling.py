"""Compile functions without the interpreter's lock or memory of their own, and keep the code.

What they need is made by their callers, in numpy. So no array has to be counted: numba counts each
view, such as a row of a table, with an atomic operation where it is made and where it ends, which
was a third of the time of a step.

Numba keeps compiled code beside the file of a function, and takes no notice of changes in other
files that it calls. So code is kept in a folder that is named after the text of all of them.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import config as _config
from numba import njit
from numba.extending import intrinsic
from numpy.typing import NDArray

from fugu.operators.compiled.kept_code import KeptCode

Function = TypeVar("Function", bound=Callable[..., Any])

config: Any = _config
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    # A division by zero is an infinity, as in numpy.
    "error_model": "numpy",
    # No runtime for memory (see `numba.extending.register_jitable`).
    "_nrt": False,
}


def entry_point(function: Function) -> Function:
    """Compile a function that Python calls, at its first call, or read it from the cache."""
    compiled: Any = _compiled(function)
    if not config.DISABLE_JIT:
        compiled._cache = KeptCode(function)
    return cast("Function", compiled)


def part(function: Function) -> Function:
    """Compile a function into the entry points that call it."""
    return _compiled(function)


def inlined(function: Function) -> Function:
    """Compile a function in place of its calls.

    LLVM puts it there. Numba's own way (`inline="always"`) copies what it knows of the function
    for each call, which was half of all seconds of compiling, and no faster afterwards.
    """
    return _compiled(function, forceinline=True)


def read_only(numbers: NDArray[Any]) -> NDArray[np.int64]:
    """Return numbers in one form, whatever their type and whether they can be written to.

    Code is compiled for a form of its arguments, and again for each other one.
    """
    numbers = np.ascontiguousarray(numbers, dtype=np.int64).view()
    numbers.flags.writeable = False
    return numbers


def in_llvm(function: Callable[..., Any]) -> Any:
    """Take a function that writes LLVM's instructions as one that compiled functions can call."""
    return intrinsic(function)


def _compiled(function: Function, **options: Any) -> Function:
    compiled: Function = njit(function, **_OPTIONS, **options)
    return compiled
