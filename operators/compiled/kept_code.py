"""Keep the code of one function in folders, of which some may be read only.

numba's own cache has one folder, takes no folder that it cannot write to, and falls back on one
beside the file of the function, which takes no notice of other files that it calls.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core import caching

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
