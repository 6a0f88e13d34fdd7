"""`fugu`, killed with -9 at an exact point of its own code: python -m tests.faults.killed_inside.

Arguments: the name of a point, which of its occurrences, and those of `fugu`. A signal from outside
never finds the middle of a write of some microseconds; the process here sends it to itself. Row
logs begin a new generation early, so that compaction happens within a test, and a consumer group
misses the process early.
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from threading import Timer
from typing import Any

from fugu.dataflows.commands.cli import fugu
from fugu.dataflows.flows.told_moves import ToldMoves
from fugu.dataflows.kafka.native.copy_writer import NativeCopyWriter
from fugu.dataflows.kafka.sink import KafkaSinkPart
from fugu.dataflows.publishing.lease import Leases
from fugu.dataflows.stages.log_entries import Coverage, PoliciesCovered
from fugu.dataflows.stages.merging import Merging
from fugu.dataflows.state.chain_reader import ChainReader
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.row_log import RowLog, log_files
from tests.faults.hurried import hurry


@dataclass(frozen=True)
class Point:
    """A method, and what happens instead from the chosen call of it on."""

    owner: type
    method: str
    instead: Callable[..., Any]


def _before(*_: Any) -> None:
    _kill()


def _after(original: Callable[..., Any], *arguments: Any) -> None:
    original(*arguments)
    _kill()


def _soon_after(original: Callable[..., Any], *arguments: Any) -> Any:
    """While bytewax writes its pointers."""
    Timer(Random(str(arguments[0].partition)).uniform(0.0, 0.015), _kill).start()
    return original(*arguments)


def _published(original: Callable[..., Any], part: Any, values: Any) -> None:
    original(part, values)
    part.writer.flush()
    _kill()


def _pointed_at(*_: Any) -> None:
    """Not before bytewax may have stored the pointer, while the sinks still wait."""
    time.sleep(0.3)
    _kill()


def _half_written(original: Callable[..., Any], log: RowLog, block: bytes, is_first: bool) -> None:
    path = log._path(log._generation)
    size = 0 if is_first else path.stat().st_size
    original(log, block, is_first)
    os.truncate(path, size + len(block) // 2)
    _kill()


def _half_a_generation(original: Callable[..., Any], log: RowLog) -> Any:
    _arm(POINTS["half a state write"], 1)
    return original(log)


def _first_written(original: Callable[..., Any], log: RowLog, block: bytes, is_first: bool) -> None:
    original(log, block, is_first)
    if is_first:
        _kill()


def _deleted(original: Callable[..., Any], log: RowLog) -> None:
    before = len(log_files(log.directory, log.partition))
    original(log)
    if len(log_files(log.directory, log.partition)) < before:
        _kill()


POINTS = {
    "published, no snapshot": Point(KafkaSinkPart, "write_batch", _published),
    "sink snapshot taken": Point(KafkaSinkPart, "snapshot", _after),
    "half a state write": Point(RowLog, "_write", _half_written),
    "state on its way": Point(RowLog, "append", _after),
    "a pointer, no state": Point(RowLog, "_write", _pointed_at),
    "state written, pointer does not count": Point(RowLog, "_keep", _after),
    "while state and pointer are written": Point(RowLog, "append", _soon_after),
    "while the epoch begins to count": Point(KafkaSinkPart, "snapshot", _soon_after),
    "half a new generation": Point(RowLog, "_next_generation", _half_a_generation),
    "a new generation, pointer does not count": Point(RowLog, "_write", _first_written),
    "old generation deleted": Point(RowLog, "_delete_old_generations", _deleted),
    "policies read, no mark": Point(PoliciesCovered, "encoded", _before),
    "a mark read": Point(Coverage, "cover", _after),
    "policies told, no figure": Point(Merging, "bring_to", _after),
    "a figure made, not written": Point(Merging, "_release", _after),
    "a shard not yet rotated": Point(StateDirectory, "replace", _before),
    "a claim noted": Point(Leases, "_append", _before),
    "a claim appended": Point(Leases, "_append", _after),
    "a claim counts": Point(Leases, "_withdraw_all_others", _before),
    "older claims withdrawn": Point(Leases, "_withdraw_all_others", _after),
    "people moved, merge not told": Point(ToldMoves, "tell", _before),
    "people moved, merge told": Point(ToldMoves, "tell", _after),
    "in a restore": Point(ChainReader, "require_whole", _before),
    "a cut written, no positions": Point(NativeCopyWriter, "send_offsets", _before),
    "positions sent, no commit": Point(NativeCopyWriter, "commit", _before),
    "committed, not known": Point(NativeCopyWriter, "commit", _after),
    "renamed": Point(Path, "rename", _after),
}


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _arm(point: Point, occurrence: int) -> None:
    original = getattr(point.owner, point.method)
    calls = 0

    def counted(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls >= occurrence:
            return point.instead(original, *arguments)
        return original(*arguments)

    setattr(point.owner, point.method, counted)


def main() -> None:
    """Run the command of the arguments."""
    hurry()
    _arm(POINTS[sys.argv[1]], int(sys.argv[2]))
    sys.argv[1:] = sys.argv[3:]
    fugu.main()


if __name__ == "__main__":
    main()
