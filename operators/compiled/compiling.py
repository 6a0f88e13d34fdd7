"""Compile functions without the interpreter's lock or memory of their own, and keep the code.

What they need is made by their callers, in numpy. So no array has to be counted: numba counts each
view, such as a row of a table, with an atomic operation where it is made and where it ends, which
was a third of the time of a step.

Numba keeps compiled code beside the file of a function, and takes no notice of changes in other
files that it calls. So code is kept in a folder that is named after the text of all of them. Where
no folder can be written to, every start compiles again.
"""

from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numba import config as _config
from numba import njit
from numba.extending import intrinsic
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])

config: Any = _config
_HERE = Path(__file__).parent
_OPERATORS = _HERE.parent
_CONSTANTS = [
    _OPERATORS / name
    for name in (
        "budget_units.py",
        "release_digest.py",
        "sip/batches/cheapest_targets.py",
        "sip/hamming_kernel.py",
        "sip/integer_law.py",
        "sip/markov_model.py",
        "sip/privacy_bound.py",
    )
]
"""Where else what is compiled in is written down."""
_DATAFLOWS = _OPERATORS.parent / "dataflows"
_FOLDERS = [_HERE, _DATAFLOWS / "kafka" / "native", _DATAFLOWS / "records" / "scanned"]
"""Where every file is about compiled code; elsewhere, those that are named so."""


_OPTIONS: dict[str, Any] = {
    "nogil": True,
    # A division by zero is an infinity, as in numpy.
    "error_model": "numpy",
    # No runtime for memory (see `numba.extending.register_jitable`).
    "_nrt": False,
}


def entry_point(function: Function) -> Function:
    """Compile a function that Python calls, at its first call, or read it from the cache."""
    elsewhere = config.CACHE_DIR
    for folder in folders():
        config.CACHE_DIR = str(folder)
        try:
            return _compiled(function, cache=True)
        except (RuntimeError, OSError):
            continue
        finally:
            config.CACHE_DIR = elsewhere
    return _compiled(function)


def part(function: Function) -> Function:
    """Compile a function into the entry points that call it."""
    return _compiled(function)


def inlined(function: Function) -> Function:
    """Compile a function in place of its calls: faster, and too slow to compile for a long one."""
    return _compiled(function, inline="always")


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


def folders() -> tuple[Path, ...]:
    """Return where code of this version is kept: in the first one that can be written to."""
    return _folders(config.CACHE_DIR)


@cache
def _folders(configured: str) -> tuple[Path, ...]:
    name = f"fugu-{_version()}"
    if configured:
        return (Path(configured) / name,)
    return _HERE / "__pycache__" / name, Path.home() / ".cache" / name


def _version() -> str:
    content = blake2b(digest_size=8)
    for path in sources():
        content.update(path.read_bytes())
    return content.hexdigest()


def sources() -> list[Path]:
    """Return all files that compiled code is made of."""
    # Each folder by itself: it may be a link, which a search does not follow.
    named = [path for top in (_OPERATORS, _DATAFLOWS) for path in top.rglob("compiled_*.py")]
    inside = [path for folder in _FOLDERS for path in folder.glob("[!_]*.py")]
    return [*sorted({*named, *inside}), *_CONSTANTS]
