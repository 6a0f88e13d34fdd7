"""A process with a wrong clock reads it, and waits for as long as one with a right clock."""

import subprocess
import sys
import time

import pytest

from tests.chaos.clocks import wrong_clock
from tests.chaos.faults import CLOCKS

WAITING = """
import time
from confluent_kafka import Consumer
consumer = Consumer({"group.id": "nobody", "bootstrap.servers": "127.0.0.1:1"})
began = time.monotonic()
for _ in range(4):
    consumer.poll(0.25)
print(time.time(), time.monotonic() - began)
"""
DAY = 24 * 60 * 60


@pytest.mark.acceptance
@pytest.mark.parametrize("wrong_by", CLOCKS)
def test_a_wrong_clock_changes_no_wait_of_librdkafka(wrong_by: str) -> None:
    given = [sys.executable, "-c", WAITING]
    ended = subprocess.run(
        given, env=wrong_clock(wrong_by), capture_output=True, text=True, timeout=60, check=True
    )
    clock, waited = map(float, ended.stdout.split())
    assert 20 < abs(clock - time.time()) < DAY + 60
    assert 0.9 < waited < 10
