"""Real-time releases have the same bytes whatever the CPU can do."""

import os
import subprocess
import sys
from pathlib import Path

from tests.operators.fixed_run import dispatched_features
from tests.operators.realtime import fixed_streams

FIXED_RUN = "8bc8b380940a536e200e3037c1fd2a01a44b39bcc0f1b9b72943d0af16d16095"
"""If it changes, releases changed: raise `implementation`, which changes the law digest too."""


def test_the_fixed_run_is_pinned_and_a_cpu_with_fewer_instruction_sets_repeats_it() -> None:
    disabled = " ".join(dispatched_features())
    finished = subprocess.run(
        [sys.executable, "-m", "tests.operators.realtime.fixed_streams"],
        env={**os.environ, "NPY_DISABLE_CPU_FEATURES": disabled},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    assert finished.stdout.split() == [FIXED_RUN]
    assert fixed_streams.digest() == FIXED_RUN
