"""The page about formats names tests that exist, and has a cell for each case of their table."""

import re
from pathlib import Path

import pytest

from tests.kafka.clients import BOTH
from tests.kafka.formats import FORMATS
from tests.kafka.test_format_table import FEATURES, IDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "formats.md").read_text()
NAMED = re.findall(r"`(tests/[\w/.]+)::(\w+)`", PAGE)
NOT_THERE = "refused"


def table(library: str) -> str:
    """The table of a client: a row for each format, a column for each feature of a broker."""
    lines = [f"| {library} | " + " | ".join(FEATURES) + " |", "|---" * (len(FEATURES) + 1) + "|"]
    for name in FORMATS:
        ids = [f"{feature}-{library}" for feature in FEATURES]
        cells = [f"`{one}-{name}`" if one in IDS else NOT_THERE for one in ids]
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(lines)


@pytest.mark.parametrize("library", BOTH)
def test_the_table_of_a_client_has_every_case_that_is_tested(library: str) -> None:
    assert table(library) in PAGE


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_is_named_is_there(file: str, name: str) -> None:
    assert f"def {name}(" in (ROOT / file).read_text()


def test_tests_are_named() -> None:
    assert len(NAMED) >= 8
