"""Compile steps by numba, where it is installed (extra `fast`): the same bytes, faster.

Everything here exists in numpy or `hashlib` too, and equals it bit for bit: the order of additions
is the same, nothing is fused or reordered (no fast-math), and words are words. Tests compare the
two. Nothing is imported before it is needed, since numba takes a while.

>>> isinstance(available(), bool)
True
"""

import sys
from functools import cache
from importlib.util import find_spec


def available() -> bool:
    """Return whether there is numba, on a machine whose integers begin with their lowest byte."""
    return sys.byteorder == "little" and _numba_is_there()


def described() -> str:
    """Describe what is compiled here, in words for people."""
    if not available():
        return "none; the extra fast has them"
    return (
        "records, keyed words, crr, adaptive_crr, batched_crr, cold_start_crr, reports, anonymize"
    )


@cache
def _numba_is_there() -> bool:
    try:
        return find_spec("numba") is not None
    except ValueError:
        return False


__all__ = ["available", "described"]
