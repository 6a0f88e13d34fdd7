"""Directories are exchanged all or none, however often that is cut short."""

from pathlib import Path

import pytest

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.exchange import Exchange
from tests.dataflows.state.fingerprints import FINGERPRINT

COMMAND = "fugu state repartition"


class Cut(BaseException):
    """The process ends."""


def begun(root: Path, names: list[str], partitions: int) -> list[Path]:
    for name in names:
        (root / name).mkdir(parents=True)
        StateDirectory(root / name).create(
            FINGERPRINT.model_copy(update={"partitions": partitions})
        )
    return [root / name for name in names]


def partitions_of(path: Path) -> int | None:
    stored = StateDirectory(path).stored()
    return None if stored is None else stored.partitions


@pytest.mark.parametrize("cut", range(8))
def test_an_exchange_that_is_cut_at_any_renaming_is_completed_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: int
) -> None:
    old = begun(tmp_path, ["shard-0000", "shard-0001", "shard-0002"], 4)
    new = old[:2]

    def exchange() -> None:
        one = Exchange(tmp_path)
        if not one.is_decided(COMMAND):
            for path in new:
                changed = FINGERPRINT.model_copy(update={"partitions": 6})
                one.new(path).create(changed)
            one.decide(old, new, COMMAND)
        one.finish()

    renamings, rename = 0, Path.rename

    def cut_short(path: Path, target: Path) -> Path:
        nonlocal renamings
        if renamings == cut:
            raise Cut
        renamings += 1
        return rename(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", cut_short)
        try:
            exchange()
        except Cut:
            decided = Exchange(tmp_path).is_decided(COMMAND)
            for path in old:
                if decided:
                    with pytest.raises(StartRefused, match="fugu state repartition once more"):
                        StateDirectory(path).lock()
                else:
                    assert partitions_of(path) == 4
    if Exchange(tmp_path).is_decided(COMMAND) or renamings == cut:
        exchange()

    assert [partitions_of(path) for path in new] == [6, 6]
    assert not old[2].exists()
    kept = sorted(tmp_path.glob("shard-*.before-*"))
    assert [partitions_of(path) for path in kept] == [4, 4, 4]
    StateDirectory(new[0]).lock()


def test_what_a_refused_start_made_in_the_place_of_a_directory_is_no_state(tmp_path: Path) -> None:
    [old] = begun(tmp_path, ["shard-0000"], 4)
    one = Exchange(tmp_path)
    one.new(old).create(FINGERPRINT)
    one.decide([old], [old], COMMAND)
    old.rename(tmp_path / "shard-0000.before-0")
    old.mkdir()
    (old / "lock").touch()
    one.finish()
    assert not StateDirectory(old).is_empty


def test_what_an_earlier_attempt_left_beside_is_never_put_in_place(tmp_path: Path) -> None:
    """It was begun with more shards, and killed: its rows are older than the state."""
    old = begun(tmp_path, ["shard-0000", "shard-0001"], 4)
    one = Exchange(tmp_path)
    for path in (*old, tmp_path / "shard-0002"):
        one.new(path).create(FINGERPRINT)
    for path in old:
        one.new(path).create(FINGERPRINT)
    one.decide(old, old, COMMAND)
    one.finish()
    assert not (tmp_path / "shard-0002").exists()
    assert not list(tmp_path.glob("*.next"))


def test_an_exchange_is_completed_with_what_it_was_about(tmp_path: Path) -> None:
    """With other files, the ledger would hold the promise of a state that is not there."""
    [old] = begun(tmp_path, ["shard-0000"], 4)
    one = Exchange(tmp_path)
    one.new(old).create(FINGERPRINT)
    one.decide([old], [old], COMMAND, "these files")
    assert one.is_decided(COMMAND, "these files")
    with pytest.raises(StartRefused, match="with other files"):
        one.is_decided(COMMAND, "others")
