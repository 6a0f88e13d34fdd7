"""Do what docs/analysts.md tells readers to do with displaced values; it works."""

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from tests.dataflows.stages.displaced.running import pipeline_file
from tests.dataflows.stages.running import Running

PAGE = Path(__file__).parents[5] / "docs" / "analysts.md"


def block(heading: str) -> str:
    """The first Python block below a heading."""
    section = PAGE.read_text().split(f"## {heading}", 1)[1]
    return section.split("```python\n", 1)[1].split("```", 1)[0]


def test_averages_and_counts_are_those_of_a_lag_earlier(tmp_path: Path) -> None:
    truth = 72.0 + 10.0 * np.sin(np.arange(400) / 15.0)
    section = {"window": 10, "threshold": None, "epsilon": 5.0}
    records = [(b"a", b'{"at": 1, "bpm": %f}' % value) for value in truth.tolist()]
    run = Running(pipeline_file(tmp_path, {}, section)).feed(records).finish()
    found: dict[str, Any] = {"releases": [orjson.loads(value) for _, value, *_ in run.releases]}
    exec(block("Values that are true, and late"), found)
    assert (found["lag"], found["fill"]) == (3, 1.0)
    at = found["sources"][20:] - 1
    averages = np.array(found["averages"])[20:]
    known = np.array([truth[max(0, i - 9) : i + 1].mean() for i in range(400)])
    late = np.abs(averages - known[at + 3]).mean()
    assert np.abs(averages - known[at]).mean() < 0.5 < 1.0 < late
    first = found["sources"][0] - 1
    counted = np.cumsum(truth[first:] > 72.0)[at - first]
    assert found["counts"][20:] == pytest.approx(counted, abs=4)
