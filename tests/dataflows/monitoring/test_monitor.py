"""Counting refusals, which leave no process behind that could tell of them."""

import stat
from pathlib import Path

from fugu.dataflows.base.errors import KafkaUnavailable, StartRefused
from fugu.dataflows.monitoring.monitor import RefusedStarts


def test_refusals_are_counted_over_processes(tmp_path: Path) -> None:
    assert RefusedStarts(tmp_path).total() == 0
    for _ in range(3):
        RefusedStarts(tmp_path).count(StartRefused("the secret changed"))
    assert RefusedStarts(tmp_path).total() == 3


def test_other_ends_are_not_refusals(tmp_path: Path) -> None:
    for error in (None, KafkaUnavailable("away"), KeyboardInterrupt()):
        RefusedStarts(tmp_path).count(error)
    assert list(tmp_path.iterdir()) == []


def test_count_is_for_its_owner_only(tmp_path: Path) -> None:
    RefusedStarts(tmp_path).count(StartRefused())
    assert [stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()] == [0o600]


def test_directory_that_is_not_there_does_not_hide_the_refusal(tmp_path: Path) -> None:
    nowhere = RefusedStarts(tmp_path / "nowhere")
    nowhere.count(StartRefused())
    assert nowhere.total() == 0
