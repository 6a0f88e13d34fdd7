"""A day of a small city, from the raw topic to the picture, on the embedded broker."""

from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from examples.city.example import STRATEGIES, counted, pipelines_on
from examples.city.people import TICKS, ZONES, People
from examples.city.picture import save
from examples.city.report import table
from fugu.dataflows.offline.demo.embedded_broker import PARTITIONS, EmbeddedBroker
from fugu.dataflows.offline.demo.raw_records import partition_of
from fugu.dataflows.offline.demo.whole_path import shown_progress

PEOPLE = People(60)


@pytest.mark.slow
def test_the_analyst_finds_what_was_published_within_its_error_bars(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with EmbeddedBroker() as bootstrap, shown_progress(Console(quiet=True)) as progress:
        released = counted(pipelines_on(bootstrap, tmp_path), PEOPLE, progress)
    for strategy in STRATEGIES:
        published = released.stacked(strategy, "published")
        assert published.shape == (TICKS, len(ZONES))
        assert (published == published[:, :1]).all()
        assert released.held(strategy)[published].mean() > 0.8
    assert released.stacked("sample", "published")[:, 0].nonzero()[0].tolist() == [0, 24, 48, 72]
    Console(width=120).print(table(released))
    assert "sample" in capsys.readouterr().out
    save(released, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_everybody_commutes_and_every_partition_has_records() -> None:
    begin = 1_700_000_000_000
    keys = {key for key, _, _ in PEOPLE.raw(begin)}
    assert len(keys) == 60
    assert {partition_of(key) for key in keys} == set(range(PARTITIONS))
    night, noon = People(2_000).counts()[[8, 44]]
    homes, works = (list(ZONES).index(zone) for zone in ("riverside", "centre"))
    assert night[homes] > 1.5 * noon[homes]
    assert noon[works] > 2.0 * night[works]
    assert np.array_equal(PEOPLE.counts(), People(60).counts())
