"""Whatever is cut into ticks: records in arrays give what records in lists give, byte by byte."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import orjson
import pytest

from fugu.dataflows.base.batches import Batch, Decoded, Reason, Sanitized
from fugu.dataflows.base.ticks import StreamTime, Ticks
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.stages.bounding import Arrivals, Bounded
from fugu.dataflows.stages.log_entries import PartialSums
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.state.row_table import RowTable
from tests.dataflows.stages.aggregates.exact import GROUPS, Aggregate
from tests.dataflows.stages.arrays import in_arrays, scattered
from tests.dataflows.stages.displaced import test_ticks as displaced_ticks
from tests.dataflows.stages.running import Running
from tests.dataflows.stages.series import running as series_running

BEATS = StreamTime(heartbeats=frozenset([b"beat", b"b"]))
TIMES = [StreamTime(1), StreamTime(2), StreamTime(3), BEATS]
SEVERAL: list[Any] = ["last", "first", "error"]


@dataclass
class Stream:
    """A stage, and what reads the records that it takes."""

    stage: Arrivals[Any, Any]
    codec: Codec

    def results(self, fed: list[Batch], *, arrays: bool) -> tuple[list[object], bytes, set[str]]:
        """All that leaves, the state after it, and why records were refused."""
        table, left, reasons = RowTable(self.stage.start), list[object](), set[str]()
        for batch in fed:
            decoded = self.codec.decode(batch)
            made = self.stage(in_arrays(decoded) if arrays else decoded, table)
            left += plain(made)
            reasons |= set(made.dead.reasons)
        return left, table.take_everything(), reasons


def plain(made: Bounded[PartialSums] | Sanitized) -> Iterator[object]:
    """Return what leaves, as objects to compare: a number that is none equals itself."""
    yield from zip(made.dead.offsets, made.dead.timestamps, made.dead.reasons, strict=True)
    if isinstance(made, Bounded):
        yield from [one.encoded() for one in made.partials]
    else:
        notes = {name: note.tolist() for name, note in made.releases.annotations.items()}
        yield from zip(made.keys, made.offsets, made.releases.values.tolist(), strict=True)
        yield repr(notes), list(made.epochs or [])


def summing(ticks: Ticks, most: int) -> Stream:
    aggregate = Aggregate(1, ticks, sums=True, admission=Admission("unchecked", 1, most))
    return Stream(aggregate.bounding, aggregate.codec)


def batches(seed: int, sizes: list[int]) -> list[Batch]:
    """Batches of people who come and go, with wrong clocks, readings that are none, heartbeats, and
    now and then a person with many records, or a silence."""
    random, now, offset, made = Random(seed), 5_000, 0, []
    while offset < 600:
        count, keys, values = random.choice(sizes), list[bytes | None](), list[bytes | None]()
        while len(keys) < count:
            now += random.choice([0, 5, 50, 100]) + random.choice([0] * 150 + [90_000])
            who = b"u%d" % ((now // 2_000 + random.randrange(9)) % 30)
            key = random.choice([who] * 20 + [b"beat", b"b", b"u1"])
            for _ in range(random.choice([1] * 20 + [15])):
                off = random.choice([0] * 9 + [-700, -4_000, 1_700, 2_500, 60_000])
                kw = random.choice([1.5, 2.5, 4, -1] * 5 + ["none"])
                reading = {"at": max(0, now + off), "zone": random.choice(GROUPS), "kw": kw}
                keys.append(random.choice([key] * 60 + [None]))
                values.append(random.choice([orjson.dumps(reading)] * 60 + [b"{", None]))
        offsets = list(range(offset, offset + len(keys)))
        made.append(Batch(0, offsets, [0] * len(keys), keys, values, [[] for _ in keys]))
        offset += len(keys)
    return made


@pytest.mark.parametrize("time", TIMES, ids=["1", "2", "3", "heartbeats"])
@pytest.mark.parametrize(("most", "sizes"), [(1_000, [1, 200]), (6, [7, 64])])
def test_sums_of_arrays_are_sums_of_lists(time: StreamTime, most: int, sizes: list[int]) -> None:
    reasons = set[str]()
    for seed in range(8):
        stream = summing(Ticks(1_000, 500 * (seed % 5), 30, time=time), most)
        whole = stream.results(batches(seed, sizes), arrays=False)
        assert stream.results(batches(seed, sizes), arrays=True) == whole
        assert len(whole[0]) > 30
        reasons |= whole[2]
    expected = {Reason.LATE, Reason.TOO_FAR_AHEAD, Reason.WRONG_TYPE, Reason.NOT_JSON}
    assert reasons >= expected | ({Reason.TOO_MANY_KEYS} if most == 6 else set())


def streams(directory: Path, time: StreamTime) -> Iterator[Stream]:
    """Kinds of local releases in ticks, with records that count in every way."""
    ticks = {"grace": "900ms"}
    source = {"value": "kw"}
    for several in [*SEVERAL, "list"]:
        given = ticks | {"several": several}
        running = displaced_ticks.running(directory, source=source, ticks=given)
        if several != "list":
            entry = {"operator": series_running.operator(given, lower=-5, upper=5)}
            sections = entry | {"source": series_running.PIPELINE["source"] | source}
            yield _stream(series_running.pipeline_file(directory, sections), time)
        yield _stream(running.file, time)


def _stream(file: Any, time: StreamTime) -> Stream:
    memory = Running(file, max_keys=15).memory
    stage: Any = memory.stage
    return Stream(replace(stage, ticks=replace(stage.ticks, time=time)), memory.publisher.codec)


@pytest.mark.slow
@pytest.mark.parametrize("time", [StreamTime(2), BEATS], ids=["people", "heartbeats"])
def test_releases_of_arrays_are_releases_of_lists(time: StreamTime, tmp_path: Path) -> None:
    reasons = set[str]()
    for stream in streams(tmp_path, time):
        fed = batches(1, [1, 7, 200])
        whole = stream.results(fed, arrays=False)
        assert stream.results(fed, arrays=True) == whole
        assert len(whole[0]) > 100
        reasons |= whole[2]
    refused = {Reason.TOO_FAR_AHEAD, Reason.SECOND_IN_TICK, Reason.TOO_MANY_KEYS}
    assert reasons >= refused | {Reason.LATE}


def test_a_column_that_is_out_of_order_reads_the_same() -> None:
    keys = [b"anna", b"", b"ben", b"anna"]
    assert list(scattered(keys)) == keys
    decoded = in_arrays(summing(Ticks(1, 0, 1), 1).codec.decode(batches(1, [9])[0]))
    assert isinstance(decoded, Decoded)
    assert np.diff(decoded.keys.begins).max() < 0  # type: ignore[attr-defined]
