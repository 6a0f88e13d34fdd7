"""A day of a few riders, from the raw topic to the picture, on the embedded broker."""

from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from examples.commute.example import PIPELINES, counted, pipelines_on
from examples.commute.picture import save
from examples.commute.report import CENTRAL, LOCAL, PBA, TOGETHER, table
from examples.commute.riders import MOVES, ZONES, Riders
from fugu.dataflows.offline.demo.embedded_broker import PARTITIONS, EmbeddedBroker
from fugu.dataflows.offline.demo.raw_records import partition_of
from fugu.dataflows.offline.demo.whole_path import shown_progress
from fugu.dataflows.pipeline.joint import Told, declared_joints
from fugu.dataflows.pipeline.mechanisms import configure

RIDERS = Riders(600, ticks=12)


@pytest.mark.slow
def test_both_topics_are_counted_and_what_they_tell_is_added_before_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with EmbeddedBroker() as bootstrap, shown_progress(Console(quiet=True)) as progress:
        files = pipelines_on(bootstrap, tmp_path)
        released = counted(files, RIDERS, progress)
    mechanisms = {name: configure(files[name]).mechanism for name in PIPELINES}
    assert mechanisms["reports"].law_digest() == PBA.law_digest(), (
        "the analyst has that of the file"
    )
    assert released.reports.bits.shape == (12, 600, len(ZONES))
    assert released.reports.new[0].all()
    charged = np.array([released.spent[start : start + 4].sum(axis=0) for start in range(9)])
    assert 0.0 < charged.max() <= 8.0 + 1e-9
    for name in (LOCAL, CENTRAL):
        values, errors = released.estimates[name]
        there = ~np.isnan(errors)
        assert there.any(), "something was published"
        assert (np.abs(values - released.truth) <= 4 * errors)[there].mean() > 0.9
    told = [Told.of(files[name].pipeline, mechanisms[name]) for name in PIPELINES]
    [joint] = declared_joints({one.pipeline: one for one in told})
    assert joint.limit is not None
    leakages = [max(released.leakage[name].total) for name in (LOCAL, CENTRAL, TOGETHER)]
    assert max(leakages[:2]) < leakages[2]
    assert all(one <= most for one, most in zip(leakages, joint.limit, strict=True))
    Console(width=120).print(table(released))
    assert "together" in capsys.readouterr().out
    save(released, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_riders_leave_home_by_the_chain_that_the_matrix_says() -> None:
    riders = Riders(4_000)
    first, last = riders.counts()[[0, -1]]
    assert first[ZONES.index("north")] > 2 * last[ZONES.index("north")]
    assert last[ZONES.index("centre")] > 5 * first[ZONES.index("centre")]
    before, after = riders.zones[:, :-1].ravel(), riders.zones[:, 1:].ravel()
    for zone, row in enumerate(MOVES):
        assert sum(row) == pytest.approx(1.0)
        some = after[before == zone]
        shares = np.bincount(some, minlength=len(ZONES)) / len(some)
        assert np.abs(shares - row).max() < 4 * 0.5 / np.sqrt(len(some))


def test_everybody_sends_one_record_in_every_tick_and_every_partition_has_some() -> None:
    begin = 1_700_000_100_000 // 900_000 * 900_000
    records = list(RIDERS.raw(begin))
    assert len(records) == RIDERS.records == 600 * 13
    assert len({(key, made // 900_000) for key, _, made in records}) == len(records)
    assert {partition_of(key) for key, _, _ in records} == set(range(PARTITIONS))
