"""Compile functions without the interpreter's lock, and keep their code in folders."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numba import config as _config
from numba import njit
from numba.core import caching
from numba.extending import intrinsic
from numpy.typing import NDArray

from fugu.operators.compiled.folders import folders, kept_in

_FOLDER_OF: Any = caching.UserProvidedCacheLocator.get_suitable_cache_subpath


class _Locator(caching.UserProvidedCacheLocator):
    """One folder, which is made when something is written."""

    def __init__(self, folder: Path, function: Any, file: str) -> None:
        self._py_file = file
        self._lineno = function.__code__.co_firstlineno
        self._cache_path = str(folder / _FOLDER_OF(file))


def _in_folder(folder: Path, function: Any) -> Any:
    class Here(_Locator):
        @classmethod
        def from_function(cls, py_func: Any, py_file: str) -> _Locator:
            return cls(folder, py_func, py_file)

    bases = (caching.CompileResultCacheImpl,)
    code = type("Code", bases, {"_locator_classes": [Here]})
    kept: Any = type("Kept", (caching.FunctionCache,), {"_impl_class": code})
    return kept(function)


class KeptCode:
    """Give a compiled function its code, and keep what it has compiled.

    numba's own cache has one folder, takes no folder that it cannot write to, and falls back on one
    beside the file of the function, which takes no notice of other files that it calls.

    What a folder cannot give is compiled again: its disk may be full, or its files damaged.
    """

    def __init__(self, function: Any) -> None:
        self._read = [_in_folder(folder, function) for folder in folders()]
        folder = kept_in()
        self._written = None if folder is None else _in_folder(folder, function)

    @property
    def cache_path(self) -> str | None:
        """Return where code is written, for numba's statistics."""
        return None if self._written is None else str(self._written.cache_path)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the code for types of arguments; None if no folder has it."""
        for kept in self._read:
            with suppress(Exception):  # of any type: the files hold pickled objects
                code = kept.load_overload(signature, target)
                if code is not None:
                    return code
        return None

    def save_overload(self, signature: Any, code: Any) -> None:
        """Write the code for types of arguments, if it can be written."""
        if self._written is not None:
            try:
                self._written.save_overload(signature, code)
            except Exception:  # what is there may be damaged
                with suppress(OSError):
                    self._written.flush()
                    self._written.save_overload(signature, code)


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
    """Compile a function that Python calls, at its first call, or read it from the cache.

    Callers make what compiled functions need, in numpy. So no array has to be counted: numba counts
    each view, such as a row of a table, with an atomic operation where it is made and where it
    ends, which was a third of the time of a step.

    Numba keeps compiled code beside the file of a function, and takes no notice of changes in other
    files that it calls. So code is kept in a folder that is named after the text of all of them.
    """
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
