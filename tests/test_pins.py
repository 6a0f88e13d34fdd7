"""Fixed runs give the pinned bytes, whatever the CPU can do, and pins do not change unasked."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.pins import RUNS, Refused, pinned, updated
from tests.thinned import in_acceptance

PRINTED = """
import json, sys
from tests.pins import RUNS
from tests.test_pins import dispatched_features
print(json.dumps([dispatched_features(), {name: RUNS[name]() for name in sys.argv[1:]}]))
"""
LONG = ["anonymize", "robust_crr"]
KNOWN = {"crr": "one", "grr": "two"}


def dispatched_features() -> list[str]:
    """Return numpy's instruction sets beyond the baseline; publicly it only prints them."""
    core = import_module("numpy._core._multiarray_umath")
    return [name for name in core.__cpu_dispatch__ if core.__cpu_features__[name]]


def test_every_run_has_a_pin_and_every_pin_a_run() -> None:
    assert sorted(RUNS) == sorted(pinned()), "python -m tests.pins adds what is missing"


@pytest.mark.parametrize("name", RUNS)
def test_a_fixed_run_gives_the_pinned_bytes(name: str) -> None:
    assert RUNS[name]() == pinned()[name]


@pytest.mark.slow
@pytest.mark.parametrize("names", [sorted(RUNS.keys() - LONG), in_acceptance(LONG)])
def test_a_cpu_with_fewer_instruction_sets_gives_the_same_bytes(names: list[str]) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", PRINTED, *names],
        env={**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(dispatched_features())},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(finished.stdout) == [[], {name: pinned()[name] for name in names}]


def test_what_is_missing_is_added() -> None:
    assert updated(KNOWN, {**KNOWN, "alt": "three"}) == {"alt": "three", **KNOWN}


@pytest.mark.parametrize("found", [{"crr": "other", "grr": "two"}, {"grr": "two"}])
def test_what_is_there_is_changed_or_dropped_only_by_name(found: dict[str, str]) -> None:
    with pytest.raises(Refused, match=r"^differs: crr; nothing is written"):
        updated(KNOWN, found, change=["grr"])
    assert updated(KNOWN, found, change=["crr"]) == found
