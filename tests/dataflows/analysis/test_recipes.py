"""The recipes of the page for analysts give what `fugu.read` gives."""

import re
from pathlib import Path

import duckdb
import pytest

import fugu
from fugu.dataflows.analysis.exported import write_days
from tests.dataflows.analysis.sanitized import sanitized, walks
from tests.dataflows.kinds.example_files import ROOT, example_of

PAGE = (ROOT / "docs" / "analysts.md").read_text()


@pytest.mark.parametrize(("place", "kind"), [(0, "grr"), (1, "oue")])
def test_the_queries_for_duckdb_undo_the_bias(place: int, kind: str, tmp_path: Path) -> None:
    records, promise = sanitized(example_of(kind, tmp_path), walks(4, 200, 5, seed=2, stay=0.9))
    topic = fugu.read(records, promise=promise)
    folder = tmp_path / "exported"
    write_days(topic.records, [promise], 0, folder, 0, len(records))
    queries = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    assert len(queries) == 2
    query = queries[place].replace("exported/", f"{folder}/")
    found = dict(duckdb.connect().execute(query).fetchall())
    shares = fugu.read(folder).shares().table
    expected = dict(zip(shares["symbol"].to_pylist(), shares["estimate"].to_pylist(), strict=True))
    assert found == pytest.approx(expected)
