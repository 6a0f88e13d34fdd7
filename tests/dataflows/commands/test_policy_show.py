"""`fugu policy show`: what it prints, what machines read, what it draws, and what it refuses."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner, Result

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.commands.cli.fugu import app
from tests.dataflows.policies.documents import EXAMPLE, with_change


def shown(*options: str, path: Path = EXAMPLE) -> Result:
    return CliRunner().invoke(app, ["policy", "show", str(path), *options], env={"COLUMNS": "90"})


def said(*options: str, path: Path = EXAMPLE) -> list[str]:
    result = shown(*options, path=path)
    assert result.exit_code == 0
    return [line.rstrip() for line in result.stdout.splitlines()]


def document(*options: str, path: Path = EXAMPLE) -> Any:
    result = shown(*options, "--json", path=path)
    assert result.exit_code == 0
    return orjson.loads(result.stdout)


def test_days_that_are_alike_are_one_block_of_the_table() -> None:
    lines = said()
    start = next(number for number, line in enumerate(lines) if line.startswith("day"))
    assert [" ".join(line.split()) for line in lines[start + 2 : start + 10]] == [
        "Mon 01-05 06:00–09:00 household: shower 2.2 kW 2 of 18 2.2 kW",
        "to Thu 01-08 17:30–19:00 household: cooking 3.5 kW 11 of 15 19.2 kW",
        "electric-car: cooking",
        "19:00–20:00 household: cooking 14.5 kW 24 of 60 174 kW",
        "electric-car: cooking, charging",
        "20:00–05:00 +1 electric-car: charging 11 kW 24 of 60 132 kW",
        "",
        "Fri 01-09 06:00–09:00 household: shower 2.2 kW 2 of 18 2.2 kW",
    ]


def test_noise_is_said_in_the_unit_of_the_data_with_whose_it_is() -> None:
    lines = said()
    start = next(number for number, line in enumerate(lines) if line.startswith("whose"))
    assert [" ".join(line.split()) for line in lines[start + 2 : start + 10]] == [
        "everybody 435 87.9 kW 37.9 kW",
        "electric-car, 2 keys 345 110 kW 110 kW 345 345 1.11 kW",
        "charging 270 137 kW 1.11 kW",
        "cooking 105 60.5 kW 28.8 kW",
        "holiday 0 37.9 kW",
        "household, everybody else 195 33.6 kW 5.73 kW 165 120 37.7 kW",
        "shower 90 2.2 kW 37.7 kW",
        "cooking 105 60.5 kW 37.9 kW",
    ]


def test_machines_read_whose_noise_it_is() -> None:
    read = document()
    found = read["noise"]
    assert (found["epsilon"], found["unit"], found["ticks"]) == (2.0, "kW", 7 * 144)
    assert found["mean"] == pytest.approx(37.92, abs=0.01)
    car = found["collections"]["electric-car"]
    assert found["mean"] - car["mean_saved_without"] == pytest.approx(1.108, abs=0.001)
    assert car["policies"]["charging"]["mean_there"] == pytest.approx(136.7, abs=0.1)
    weighted = [
        (one["last_tick"] - one["first_tick"] + 1) * one["noise"] for one in read["stretches"]
    ]
    assert sum(weighted) / found["ticks"] == pytest.approx(found["mean"])
    night = next(one for one in read["stretches"] if one["sensitivity"] == 11)
    assert night["noise"] == pytest.approx(132)
    assert night["noise_alone"] == pytest.approx({"household": 0, "electric-car": 132})


def test_what_policies_save_is_said_with_the_window_it_is_relative_to() -> None:
    text = " ".join(" ".join(said()).split())
    for part in (
        "2026-01-05 to 2026-01-11, by the clock of Europe/Berlin; a tick is 10 minutes",
        "without policies 14.5 kW (Δ_Q)",
        "without policies it would be 435 kW at every tick, with epsilon for any 60 ticks, as many",
        "56.8% of the ticks hide nothing: these can be published exactly",
    ):
        assert part in text


def test_machines_read_every_occurrence_and_every_stretch() -> None:
    read = document("--from", "2026-03-29", "--until", "2026-03-29")
    assert (read["from"], read["until"]) == ("2026-03-29", "2026-03-29")
    cooking, car_cooking, charging = read["hidden"]
    assert cooking == {
        "policy": "household/cooking",
        "first_tick": 2957997,
        "last_tick": 2958011,
        "start": "2026-03-29T17:30:00+02:00",
        "end": "2026-03-29T20:00:00+02:00",
        "theta": [3.5] * 5,
    }
    assert (car_cooking["policy"], charging["policy"]) == (
        "electric-car/cooking",
        "electric-car/charging",
    )
    stretches = read["stretches"]
    assert [one["sensitivity"] for one in stretches] == [0, 3.5, 14.5, 11]
    assert sum(one["last_tick"] - one["first_tick"] + 1 for one in stretches) == 23 * 6
    assert [one["affected"] for one in stretches[2]["intervals"]] == [11, 24]
    quiet = stretches[0]["last_tick"] - stretches[0]["first_tick"] + 1
    assert read["improvement"]["window"] == 60
    assert read["improvement"]["exact"] == pytest.approx(quiet / (23 * 6))


def test_quiet_days_can_be_published_exactly() -> None:
    assert "Nothing is hidden in these days: every tick can be published exactly." in said(
        "--from", "2025-01-01"
    )
    assert document("--from", "2025-01-01")["improvement"] is None


def test_long_tables_end_with_where_to_go_on(tmp_path: Path) -> None:
    last = said("--until", "2026-12-31")
    assert any(line.startswith("There is more from 2026-") for line in last)


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml")])
def test_a_picture_is_drawn(name: str, start: bytes, tmp_path: Path) -> None:
    picture = tmp_path / name
    said("--from", "2026-03-28", "--plot", str(picture))
    content = picture.read_bytes()
    assert content.startswith(start)
    assert len(content) > 5_000
    if name.endswith("svg"):
        for label in ("all together", "household, alone", "electric-car, alone"):
            assert f"<!-- {label} -->" in content.decode()


def test_a_picture_of_nothing_is_drawn_too(tmp_path: Path) -> None:
    said("--from", "2025-01-01", "--plot", str(tmp_path / "a.png"))
    assert (tmp_path / "a.png").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--plot", "a.pdf"], "--plot a.pdf: the name must end in .png or .svg"),
        (["--from", "1969-12-31"], "--from: must be in the years 1970 to 2099"),
        (["--until", "2100-01-01"], "--until: must be in the years 1970 to 2099"),
        (["--until", "2026-01-04"], "--until: is before 2026-01-05, the first day; write a later"),
        (["--until", "2050-01-01"], "ticks are too many, 1,000,000 are the most; write an earlier"),
    ],
)
def test_days_that_cannot_be_shown_are_refused(options: list[str], says: str) -> None:
    error = shown(*options).exception
    assert isinstance(error, FuguError)
    assert says in str(error)


def test_a_histogram_is_shown_without_units(tmp_path: Path) -> None:
    path = tmp_path / "policies.yaml"
    text = with_change("sum, unit: kW, cap: 14.5, resolution: 0.01", "histogram")
    path.write_text(text.replace("2.2 kW", "1"))
    assert document(path=path)["sensitivity_without_policies"] == 2.0
    assert "without policies 2 (Δ_Q)" in " ".join(said(path=path))
