"""Tables of speed on pages are those that `python -m bench peers` wrote."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = {
    "bare pass-through, confluent-kafka": "pass-through, confluent-kafka",
    "Fugu, no extras": "Fugu, kafka-python, no extras",
}
"""Contestants by their name in the README."""

NOT_MEASURED = "–"


def rows(page: str) -> dict[str, list[str]]:
    """The first row of each name in a page's tables whose next cell is a large number."""
    found: dict[str, list[str]] = {}
    for line in (ROOT / page).read_text().splitlines():
        if line.startswith("|"):
            name, *cells = (cell.strip(" *") for cell in line.strip("|").split("|"))
            if cells[0].replace(",", "").isdigit() and "," in cells[0]:
                found.setdefault(NAMES.get(name, name), cells)
    return found


@pytest.mark.parametrize(("page", "contestants"), [("README.md", 10), ("docs/speed.md", 29)])
def test_figures_are_those_of_the_bench(page: str, contestants: int) -> None:
    measured, shown = rows("bench/results/peers.md"), rows(page)
    compared = measured.keys() & shown.keys()
    assert len(compared) == contestants
    for name in compared:
        figures = {figure for cell in shown[name] for figure in cell.split(" / ")} - {NOT_MEASURED}
        assert figures <= set(measured[name]), name
