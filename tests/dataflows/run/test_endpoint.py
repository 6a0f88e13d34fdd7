"""One endpoint shows what all processes report, and which of them is not well."""

import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fugu.dataflows.run.child import Child
from fugu.dataflows.run.endpoint import Endpoint
from tests.dataflows.pipeline.pipeline_files import PIPELINE, read
from tests.kafka.pages import Pages
from tests.kafka.ports import free_ports

WELL = """
import threading
from fugu.dataflows.monitoring.health import Report
from fugu.dataflows.run.link import Link
stop = threading.Event()
numbers = {{"fugu_streams": [(("raw", "{partition}"), 3)]}}
Link(lambda: Report([{partition}], numbers, None, None), stop.set).start()
stop.wait()
"""


@pytest.fixture
def children() -> Iterator[list[Child]]:
    children = [
        Child(f"process {number}", [sys.executable, "-c", WELL.format(partition=number)])
        for number in range(2)
    ]
    for child in children:
        child.start()
    while not all(child.report for child in children):
        time.sleep(0.01)
    yield children
    for child in children:
        child.kill()


def test_numbers_of_all_processes_and_the_one_that_is_not_well(
    tmp_path: Path, children: list[Child]
) -> None:
    port = free_ports(1)
    file = read(tmp_path, f"{PIPELINE}metrics: {{port: {port}}}\n")
    pages = Pages(port)
    with closing(Endpoint(file, children)):
        assert pages.is_healthy()
        assert pages.sums("fugu_streams", "partition") == {"0": 3, "1": 3}
        children[1].kill()
        assert pages.get("/healthz") == (
            503,
            b'{"status":"unavailable","reason":"process 1: not running"}\n',
        )
        assert pages.get("/livez")[0] == 200
        assert pages.sums("fugu_streams", "partition") == {"0": 3}
