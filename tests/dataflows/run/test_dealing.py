"""Shards are dealt out evenly, and a number that cannot be is refused with what to write."""

import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.run.dealing import deal


def test_shard_i_runs_in_process_i_mod_n() -> None:
    assert deal(4, 1) == [[0, 1, 2, 3]]
    assert deal(4, 2) == [[0, 2], [1, 3]]
    assert deal(5, 3) == [[0, 3], [1, 4], [2]]


@pytest.mark.parametrize(
    ("shards", "processes", "says"),
    [(4, 5, "write a number from 1 to 4"), (4, 0, "from 1 to 4"), (1, 2, "write 1, because")],
)
def test_more_processes_than_shards_are_refused(shards: int, processes: int, says: str) -> None:
    with pytest.raises(ConfigurationError, match=f"--processes {processes}: .*{says}"):
        deal(shards, processes)
