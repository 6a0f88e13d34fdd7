"""A million damaged records of every format: each is read, or a dead letter that has no value."""

from pathlib import Path

import pytest

from tests.dataflows.records.scanned.test_projected_messages import look_at_projected_messages
from tests.dataflows.records.scanned.test_projection import look_at_projected_avro
from tests.dataflows.records.test_avro import look_at_damaged_avro
from tests.dataflows.records.test_envelopes import look_at_damaged_records
from tests.dataflows.records.test_protobuf import look_at_damaged_protobuf


@pytest.mark.acceptance
def test_a_million_damaged_envelopes(tmp_path: Path) -> None:
    look_at_damaged_records(tmp_path, 1_000_000)


@pytest.mark.acceptance
def test_a_million_damaged_records_of_avro(tmp_path: Path) -> None:
    look_at_damaged_avro(tmp_path, 1_000_000)


@pytest.mark.acceptance
def test_a_million_damaged_records_of_protocol_buffers(tmp_path: Path) -> None:
    look_at_damaged_protobuf(tmp_path, 1_000_000)


@pytest.mark.acceptance
def test_columns_of_avro_are_decoded_as_lists_are() -> None:
    look_at_projected_avro(200_000)


@pytest.mark.acceptance
def test_columns_of_messages_are_decoded_as_lists_are() -> None:
    look_at_projected_messages(200_000)
