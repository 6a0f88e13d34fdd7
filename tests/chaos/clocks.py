"""Clocks that are wrong, by the library libfaketime."""

import subprocess
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import mkdtemp

_LIBRARY = "vendor/libfaketime/src/libfaketime.so.1"
_WAITS = Path(__file__).with_name("waits.c")


def wrong_clock(wrong_by: str) -> dict[str, str]:
    """Return variables of a process whose clock is wrong by so much, such as `-30s` or `+1d`.

    How much time passes is measured rightly, as on a machine whose clock was set wrong.
    """
    return {
        "LD_PRELOAD": f"{files('libfaketime') / _LIBRARY}:{_waits()}",
        "FAKETIME": wrong_by,
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_CACHE_DURATION": "1",
    }


@cache
def _waits() -> Path:
    """Return a library of `waits.c`, which this process compiles once."""
    library = Path(mkdtemp(prefix="fugu-clocks-")) / "waits.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(_WAITS)]
    subprocess.run(command, check=True)
    return library
