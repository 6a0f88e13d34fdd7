"""Keep what the merge is to be told of people who moved, until it is told."""

from pathlib import Path

import pytest

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.flows.told_moves import ToldMoves
from fugu.dataflows.stages.log_entries import PartitionsMoved

MOVES = ToldMoves("city.partials", "id", "reading", 7, [PartitionsMoved(4, 5).encoded(), b"sums"])


def test_what_is_kept_is_found_whole_and_only_by_its_owner(tmp_path: Path) -> None:
    MOVES.keep(tmp_path)
    assert ToldMoves.kept(tmp_path) == MOVES
    [kept] = tmp_path.iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600, "it holds exact sums"
    ToldMoves.forget(tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_is_missing_or_damaged_is_refused_and_says_how_to_finish(tmp_path: Path) -> None:
    with pytest.raises(StartRefused, match="Restore the state directory from a backup, and run"):
        ToldMoves.kept(tmp_path)
    MOVES.keep(tmp_path)
    [kept] = tmp_path.iterdir()
    kept.write_bytes(kept.read_bytes()[:-1])
    with pytest.raises(StartRefused, match="checksum"):
        ToldMoves.kept(tmp_path)
