"""The page for analysts shows the figures that were measured, and they keep the limits."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench" / "results"
MOST_SECONDS, MOST_MEGABYTES = 60, 2_000
"""For ten million records."""


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
