"""Python on the page for analysts runs; its figures are those measured, and keep the limits."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fugu
from fugu.dataflows.analysis.exported import write_days
from fugu.operators.sip.inputs import Gaps
from tests.dataflows.analysis.sanitized import sanitized, walks
from tests.dataflows.kinds.example_files import example_of

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench" / "results"
PAGE = (ROOT / "docs" / "analysts.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
MARKS = {"pba_ldp": "estimated_counts", "adaptive_crr": "adaptive_crr"}
"""Words that a block about a topic of this kind holds."""
MOST_SECONDS, MOST_MEGABYTES = 60, 2_000
"""For ten million records."""


def topic_of(kind: str, folder: Path) -> "fugu.analysis.Topic":
    records, promise = sanitized(example_of(kind, folder), walks(4, 60, 6, seed=1, stay=0.9))
    topic = fugu.read(records, promise=promise)
    write_days(topic.records, [promise], 0, folder / kind, 0, len(records))
    return fugu.read(folder / kind)


@pytest.mark.filterwarnings("ignore::fugu.analysis.ModelAlarm")
def test_every_block_of_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    topics = {kind: topic_of(kind, tmp_path) for kind in ("crr", "pba_ldp", "adaptive_crr")}
    envelopes = [
        {"phase": "steady", "empty": False, "tick": tick, "value": 71.5} for tick in (1, 2)
    ]
    address = '"kafka://localhost:9092/vitals.sanitized", since="1d"'
    first = BLOCKS[0].replace(address, repr(str(tmp_path / "crr")))
    assert first != BLOCKS[0]
    names: dict[str, Any] = {}
    for number, block in enumerate([first, *BLOCKS[1:]]):
        before = dict(names)
        if "elapse" in block:
            timed = replace(names["mechanism"], gaps=Gaps(60_000, longest=10))
            pairs = [(0, 60_000), (0, 180_000)]
            names |= {"mechanism": timed, "state": timed.start(rows=1), "releases": pairs}
        for kind in ("pba_ldp", "adaptive_crr"):
            if MARKS[kind] in block:
                names["topic"] = topics[kind]
        if "ThresholdPerturbation" in block:
            names["releases"] = envelopes
        exec(compile(block, f"block {number}", "exec"), names)
        if "elapse" in block:
            names = before
    assert len(BLOCKS) == 8


def rows(page: Path) -> list[str]:
    return [
        line
        for line in page.read_text().splitlines()
        if line.startswith("| 1") and ",000,000 |" in line
    ]


def test_the_costs_of_reading_are_those_of_the_bench() -> None:
    measured = rows(RESULTS / "analysis.md")
    assert len(measured) == 4
    assert rows(ROOT / "docs" / "analysts.md") == measured


def test_ten_million_records_take_less_than_a_minute_and_two_gigabytes() -> None:
    costs = json.loads((RESULTS / "analysis.json").read_text())["costs"]
    largest = [cost for cost in costs if cost["records"] == 10_000_000]
    assert len(largest) == 2
    for cost in largest:
        assert cost["seconds"] < MOST_SECONDS
        assert cost["megabytes"] < MOST_MEGABYTES
