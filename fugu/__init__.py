"""Use the privacy mechanisms of Fugu from a program of your own.

>>> import fugu
>>> grr = fugu.mechanism("grr", symbols=4, epsilon=1.0)
>>> secret = fugu.Secret(bytes(32))  # 32 random bytes that you keep, not zeros
>>> [(key, release.value) for key, release in fugu.release(grr, [("ada", 2), ("bob", 0)], secret)]
[('ada', 2), ('bob', 0)]

In a Bytewax dataflow of your own, `fugu.sanitize` is an operator; `fugu.promise` says what a
mechanism promises; `fugu.mechanisms` holds the classes.

`fugu.read` reads a sanitized topic and estimates what it tells (extra `analysis`).

What this module lists in `__all__` is stable. `fugu.operators` and `fugu.dataflows` are not: they
are the two folders at the top of the repository. A wheel must not put packages of such general
names beside those of a user, so it holds this third folder alone, which links to them.

Nothing heavy is imported before it is used: `import fugu` takes a millisecond.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fugu import analysis, mechanisms
    from fugu.analysis import read
    from fugu.bytewax_step import sanitize
    from fugu.dataflows.state.recovery import forget_unfinished_epochs
    from fugu.mechanisms import mechanism
    from fugu.operators.mechanism import Kind
    from fugu.operators.randomness import Secret
    from fugu.promises import promise
    from fugu.streams import Release, release, release_arrays

_HOMES = {
    "Kind": "fugu.operators.mechanism",
    "Release": "fugu.streams",
    "Secret": "fugu.operators.randomness",
    "forget_unfinished_epochs": "fugu.dataflows.state.recovery",
    "mechanism": "fugu.mechanisms",
    "promise": "fugu.promises",
    "read": "fugu.analysis",
    "release": "fugu.streams",
    "release_arrays": "fugu.streams",
    "sanitize": "fugu.bytewax_step",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, once."""
    if name in ("analysis", "mechanisms"):
        return import_module(f"fugu.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'fugu' has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "Kind",
    "Release",
    "Secret",
    "analysis",
    "forget_unfinished_epochs",
    "mechanism",
    "mechanisms",
    "promise",
    "read",
    "release",
    "release_arrays",
    "sanitize",
]
