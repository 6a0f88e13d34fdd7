"""Three days of a small town, from the raw topic to the picture, on the embedded broker."""

from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from examples.patients.analyst import Point, Record, singled_out
from examples.patients.example import PROCEDURES, anonymised, pipelines_on
from examples.patients.people import CATEGORIES, DAYS, PLACES, People
from examples.patients.picture import save
from examples.patients.report import table
from fugu.dataflows.offline.demo.embedded_broker import PARTITIONS, EmbeddedBroker
from fugu.dataflows.offline.demo.raw_records import partition_of
from fugu.dataflows.offline.demo.whole_path import shown_progress

PEOPLE = People(200)


@pytest.mark.slow
def test_the_analyst_singles_nobody_out_of_the_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with EmbeddedBroker() as bootstrap, shown_progress(Console(quiet=True)) as progress:
        released = anonymised(pipelines_on(bootstrap, tmp_path), PEOPLE, progress)
    for procedure in PROCEDURES:
        assert len(released.by_procedure[procedure]) == DAYS
        assert 0 < released.points(procedure) < released.points("recorded")
    assert min(released.found("recorded")) > 100
    assert min(released.found("thesis")) > 0
    assert released.found("repair") == (0, 0)
    for left, true in zip(released.days("repair"), released.days("recorded"), strict=True):
        assert visits(left) <= visits(true), "points are true"
    Console(width=120).print(table(released))
    assert "stage 1 (thesis)" in capsys.readouterr().out
    save(released, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def visits(records: list[Record]) -> Counter[Point]:
    return Counter(point for record in records for point in record.points)


def test_every_partition_has_patients_of_every_kind() -> None:
    records = list(PEOPLE.raw(1_700_000_000_000))
    assert len(records) == PEOPLE.records
    assert {partition_of(key) for key, _, _ in records} == set(range(PARTITIONS))
    assert {patient.category for patient in PEOPLE.patients} == set(CATEGORIES)
    assert {place for one in PEOPLE.patients for way in one.ways for _, place in way} == set(PLACES)
    assert list(People(200).raw(0)) == list(PEOPLE.raw(0))


def test_the_analyst_counts_whom_two_points_single_out() -> None:
    a, b, c = (1, "market"), (2, "hills"), (3, "arcade")
    records = [Record("Lung", (a, b)), Record("Heart", (a, b)), Record("Heart", (a, c))]
    assert singled_out(records, crowd=2, known=1) == (1, 2), "c finds one; a tells Heart of two"
    assert singled_out(records[:2], crowd=2, known=2) == (0, 0)
