"""Two weeks of a small bike-share, from the raw topic to the picture, on the embedded broker."""

from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from examples.bike_share.example import PIPELINE, counted
from examples.bike_share.picture import save
from examples.bike_share.report import budget_line, table
from examples.bike_share.riders import BEGIN, DISTRICTS, PER_DAY, TICKS, WIDTH_MS, Riders
from fugu.dataflows.offline.demo.embedded_broker import PARTITIONS, EmbeddedBroker
from fugu.dataflows.offline.demo.raw_records import partition_of
from fugu.dataflows.offline.demo.whole_path import pipeline_on, shown_progress

RIDERS, HORIZON = Riders(300), 312


@pytest.mark.slow
def test_the_analyst_finds_measured_hours_within_bars_and_then_predictions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with EmbeddedBroker() as bootstrap, shown_progress(Console(quiet=True)) as progress:
        file = pipeline_on(bootstrap, tmp_path, "pipeline.yaml", PIPELINE.read_text())
        released = counted(file, RIDERS, progress)
    for figures in released.figures.values():
        assert figures.starts == [BEGIN + tick * WIDTH_MS for tick in range(TICKS)]
        assert figures.measured.tolist() == [True] * HORIZON + [False] * (TICKS - HORIZON)
        assert np.ptp(figures.spent[HORIZON - 1 :]) == 0.0
        assert figures.remaining[-1] < 0.01 * figures.spent[-1]
    assert released.held[released.measured].mean() > 0.9
    errors = {
        name: np.abs(values - released.truth)[released.measured].mean()
        for name, values in {"real_time": released.values, **released.rivals}.items()
    }
    assert errors["real_time"] < errors["Normal"] < errors["Laplace"]
    Console(width=120).print(table(released), budget_line(released))
    printed = capsys.readouterr().out
    assert "Laplace, simulated" in printed
    assert "312 hours measured, 24 predicted" in printed
    save(released, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_riders_commute_and_rent_at_most_a_few_times_a_day() -> None:
    riders = Riders(2_000)
    rentals = riders.rentals
    days = rentals.made // (PER_DAY * WIDTH_MS) * riders.riders + rentals.rider
    assert np.unique(days, return_counts=True)[1].max() <= 4
    counts = riders.counts().reshape(-1, PER_DAY, len(DISTRICTS)).sum(axis=2)
    workdays, weekend = counts[:5].mean(axis=0), counts[5:7].mean(axis=0)
    assert workdays[[8, 17]].min() > 1.5 * workdays[12] > 0.0
    assert weekend.argmax() in range(11, 18)
    assert np.array_equal(riders.counts(), Riders(2_000).counts())


def test_a_rider_counts_once_in_an_hour_where_the_latest_rental_was() -> None:
    latest = {}
    for key, value, made in RIDERS.raw():
        latest[key, (made - BEGIN) // WIDTH_MS] = value
    counts = np.zeros((TICKS + 1, len(DISTRICTS)), dtype=np.int64)
    for (_, tick), value in latest.items():
        district = value.split(b'"')[3].decode()
        counts[tick, list(DISTRICTS).index(district)] += 1
    assert np.array_equal(counts[:TICKS], RIDERS.counts())
    assert len(latest) < RIDERS.records


def test_the_crew_opens_the_series_and_closes_it_in_every_partition() -> None:
    records = list(RIDERS.raw())
    assert len(records) == RIDERS.records
    for tick in (0, TICKS):
        begin = BEGIN + tick * WIDTH_MS
        keys = {key for key, _, made in records if begin <= made < begin + WIDTH_MS}
        assert {partition_of(key) for key in keys} == set(range(PARTITIONS))
