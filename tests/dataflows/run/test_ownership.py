"""A supervisor waits for processes that still stop, and gives way to those that go on."""

from pathlib import Path
from threading import Timer

import pytest

from fugu.dataflows.base.errors import StateInUse
from fugu.dataflows.flows.state_directories import all_directories, root_directory
from fugu.dataflows.run import ownership
from fugu.dataflows.run.ownership import own
from tests.dataflows.pipeline.pipeline_files import read


def test_shards_that_are_still_being_stopped_are_waited_for(tmp_path: Path) -> None:
    file = read(tmp_path)
    [shard] = all_directories(file)
    shard.lock()
    Timer(0.3, shard.unlock).start()
    own(file, lambda: False)
    shard.lock()
    shard.unlock()


def test_a_second_supervisor_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "PATIENCE_SECONDS", 0.2)
    file = read(tmp_path)
    first = root_directory(file)
    first.lock()
    with pytest.raises(StateInUse, match="is in use by another process"):
        own(file, lambda: False)
