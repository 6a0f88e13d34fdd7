"""A dataflow of copies goes on whatever somebody does to the clock of the machine."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.chaos.clocks import wrong_clock

SET_BACK = "-1h"
HALF_AN_HOUR = 1_800
SECONDS = 3.0
ASKING = """
import sys
import time
from pathlib import Path

from bytewax.run import cli_main

from fugu.dataflows.copies.dataflow import EPOCH, dataflow_of

clock, seconds = Path(sys.argv[1]), float(sys.argv[2])
began, asked = time.monotonic(), 0


class Idle:
    is_given = False

    def next_batch(self):
        global asked
        asked += 1
        if asked == 10:
            clock.write_text(sys.argv[3])
        if time.monotonic() - began > seconds:
            print(asked, time.time())
            raise StopIteration
        return []

    def close(self):
        pass


cli_main(dataflow_of("idle", lambda worker, workers: [Idle()]), epoch_interval=EPOCH)
"""


@pytest.mark.acceptance
def test_a_copy_goes_on_at_once_though_the_clock_is_set_back_by_an_hour(tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    clock.write_text("+0")
    given = [sys.executable, "-c", ASKING, str(clock), str(SECONDS), SET_BACK]
    environment = wrong_clock("+0") | {"FAKETIME_TIMESTAMP_FILE": str(clock)}
    del environment["FAKETIME"]
    ended = subprocess.run(
        given, env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    asked, moment = ended.stdout.split()
    assert float(moment) < time.time() - HALF_AN_HOUR, "the clock was set back"
    assert int(asked) > 50, "every twenty milliseconds"
