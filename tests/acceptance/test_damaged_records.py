"""A million damaged records of every format: each is read, or a dead letter that has no value."""

from pathlib import Path

import pytest

from tests.dataflows.records.scanned.test_projected_messages import look_at_projected_messages
from tests.dataflows.records.scanned.test_projection import look_at_projected_avro
from tests.dataflows.records.test_avro import look_at_damaged_avro
from tests.dataflows.records.test_envelopes import look_at_damaged_records
from tests.dataflows.records.test_protobuf import look_at_damaged_protobuf

RESULTS = Path(__file__).parent / "results" / "damaged_records.txt"
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
        became = look(tmp_path, RECORDS)
        assert became.total() == RECORDS
        lines += [name, *(f"    {what:<16} {n:>9,}" for what, n in became.most_common()), ""]
    RESULTS.write_text("\n".join(lines))


@pytest.mark.acceptance
def test_columns_of_avro_are_decoded_as_lists_are() -> None:
    look_at_projected_avro(200_000)


@pytest.mark.acceptance
def test_columns_of_messages_are_decoded_as_lists_are() -> None:
    look_at_projected_messages(200_000)
