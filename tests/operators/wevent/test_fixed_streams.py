"""w-event strategies give the same bytes whatever the CPU can do."""

import os
import subprocess
import sys
from pathlib import Path

from tests.operators.fixed_run import dispatched_features
from tests.operators.wevent import fixed_streams

FIXED_RUN = "dd5c28da6fb4ddba7c9a0c479243892ba6afafcbcbf9e310d86254c7cc95d7ac"
"""If it changes, releases changed: raise `implementation`, which changes the law digest too."""


def test_the_fixed_run_is_pinned_and_a_cpu_with_fewer_instruction_sets_repeats_it() -> None:
    disabled = " ".join(dispatched_features())
    finished = subprocess.run(
        [sys.executable, "-m", "tests.operators.wevent.fixed_streams"],
        env={**os.environ, "NPY_DISABLE_CPU_FEATURES": disabled},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    assert finished.stdout.split() == [FIXED_RUN]
    assert fixed_streams.digest() == FIXED_RUN
