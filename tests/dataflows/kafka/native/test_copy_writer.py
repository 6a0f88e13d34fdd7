"""A call that does not come back ends the process; one that does leaves it alone."""

import logging
import subprocess
import sys
import time

import pytest

from fugu.dataflows.kafka.native.copy_writer import ending_unless_back

STUCK = """
import ctypes
from fugu.dataflows.kafka.native.copy_writer import ending_unless_back
with ending_unless_back(0.2, "nobody has answered"):
    ctypes.CDLL(None).sleep(60)
"""


def test_a_process_whose_call_never_returns_ends_with_1_and_says_why() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=30
    )
    assert ended.returncode == 1
    assert "nobody has answered for 0 s; ending. The next start goes on" in ended.stderr


def test_a_call_that_returns_in_time_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    codes: list[int] = []
    with caplog.at_level(logging.ERROR), ending_unless_back(0.1, "a call", codes.append):
        pass
    time.sleep(0.3)
    assert codes == []
    with ending_unless_back(0.05, "a call", codes.append):
        time.sleep(0.3)
    assert codes == [1]
