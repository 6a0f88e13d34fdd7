"""A million damaged records of every format: each is read, or a dead letter that has no value."""

from pathlib import Path

import pytest

from tests.dataflows.records.test_envelopes import look_at_damaged_records


@pytest.mark.acceptance
def test_a_million_damaged_envelopes(tmp_path: Path) -> None:
    look_at_damaged_records(tmp_path, 1_000_000)
