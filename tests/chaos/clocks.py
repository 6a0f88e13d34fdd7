"""Clocks that are wrong, by the library libfaketime."""

from importlib.resources import files

_LIBRARY = "vendor/libfaketime/src/libfaketime.so.1"


def wrong_clock(wrong_by: str) -> dict[str, str]:
    """Return variables of a process whose clock is wrong by so much, such as `-30s` or `+1d`.

    How much time passes is measured rightly, as on a machine whose clock was set wrong.
    """
    return {
        "LD_PRELOAD": str(files("libfaketime") / _LIBRARY),
        "FAKETIME": wrong_by,
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_CACHE_DURATION": "1",
    }
