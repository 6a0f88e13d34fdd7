"""A million damaged records of every format: each is read, or a dead letter that has no value."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.dataflows.records.test_avro import look_at_damaged_avro
from tests.dataflows.records.test_envelopes import look_at_damaged_records
from tests.dataflows.records.test_protobuf import look_at_damaged_protobuf

RESULTS = Path(__file__).parent / "results"
RECORDS = 1_000_000


@pytest.mark.acceptance
def test_a_million_damaged_records_of_each_format(tmp_path: Path) -> None:
    """Writes `results/damaged_records.txt`, which is committed."""
    lines = ["A million damaged records of each format, and what became of them.", ""]
    for name, look in {
        "JSON in CloudEvents and Debezium": look_at_damaged_records,
        "Avro": look_at_damaged_avro,
        "Protocol Buffers": look_at_damaged_protobuf,
    }.items():
        lines += _lines(name, RECORDS, partial(look, tmp_path, RECORDS))
    (RESULTS / "damaged_records.txt").write_text("\n".join(lines))


def _lines(name: str, records: int, look: Callable[[], Counter[str]]) -> list[str]:
    became = look()
    assert became.total() == records
    return [name, *(f"    {what:<16} {n:>9,}" for what, n in became.most_common()), ""]
