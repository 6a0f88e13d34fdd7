"""Audit and evaluate windows of a sample, and of made-up people."""

from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner, Result

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.cli.fugu import app
from tests.dataflows.kinds.test_anonymize_section import pipeline_file

DIAGNOSES = ("Dengue", "H1N1", "Asthma", "Heart")
DAY = 86_400_000


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """Two days of 60 people on three ways, and two lines that are refused."""
    random = Random(4)
    records = [
        {
            "key": f"user-{who}",
            "at": (20_000 + day) * DAY + hour * 3_600_000,
            "place": (who // 4 + hour) % 3 if random.random() < 0.8 else random.randrange(9),
            "diagnosis": DIAGNOSES[who % 4],
        }
        for day in range(2)
        for hour in range(8, 20, 2)
        for who in range(60)
    ]
    records.insert(200, records[200] | {"diagnosis": "Plague"})
    records.insert(300, {key: records[300][key] for key in ("key", "at", "diagnosis")})
    path = tmp_path / "visits.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, records)))
    return path


def fugu(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "160"})


def found(*arguments: str | Path) -> dict[str, Any]:
    result = fugu(*arguments, "--json")
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = orjson.loads(result.output)
    return document


def test_attacks_find_people_before_and_nobody_in_the_release(tmp_path: Path, sample: Path) -> None:
    file = pipeline_file(tmp_path).path
    audit = found("audit", file, "--sample", sample)
    assert (audit["status"], audit["windows"], audit["people"]) == ("survived", 2, 120)
    attacks = audit["attacks"]
    assert attacks["identity"]["before"]["people"] > 20
    assert attacks["similarity"]["before"]["people"] > 20
    assert all(
        one["as released"] == {"people": 0, "sub_trajectories": 0} for one in attacks.values()
    )
    text = fugu("audit", file, "--sample", sample, "--plot", tmp_path / "audit.png").output
    assert "no attack succeeds on a release" in text
    assert "refused, outside_domain (diagnosis): 1" in text
    assert (tmp_path / "audit.png").stat().st_size > 5_000


def test_the_baseline_is_seen_to_fail_on_made_up_people(tmp_path: Path) -> None:
    baseline = found("audit", pipeline_file(tmp_path, stage="thesis", accept_unsound=True).path)
    assert not baseline["sound"]
    assert "nothing is promised (stage: thesis)" in baseline["verdict"]
    assert max(one["as released"]["people"] for one in baseline["attacks"].values()) > 0
    again = found("audit", pipeline_file(tmp_path).path)
    assert again["verdict"].startswith("no attack succeeds")
    assert again["attacks"]["identity"]["before"] == baseline["attacks"]["identity"]["before"]


def test_losses_are_counted_for_every_pair_of_bounds(tmp_path: Path, sample: Path) -> None:
    picture = tmp_path / "losses.svg"
    options = ("--people", "2,3,40", "--known", "1,2", "--plot", picture)
    losses = found("evaluate", pipeline_file(tmp_path).path, "--sample", sample, *options)
    rows = losses["candidates"]
    assert [(row["K"], row["rho"]) for row in rows] == [
        (k, rho) for rho in (1, 2) for k in (2, 3, 40)
    ]
    assert [row["configured"] for row in rows] == [False] * 4 + [True, False]
    for row in rows:
        assert row["levels_generalised_per_record"] == 0.75, "Heart is a category already"
        if row["K"] == 40:
            assert (row["suppressed_windows"], row["kept_points"]) == (2, 0), "120 people, not 80"
            assert row["places_told_wrong"] is None
        elif row["suppressed_windows"] == 0:
            removed = sum(row["points_removed"].values())
            assert row["kept_points"] == row["points"] - removed
            assert 0.0 < row["places_told_wrong"] < 0.5
    assert [row["suppressed_windows"] for row in rows[:3]] == [0, 0, 2]
    assert rows[0]["kept_points"] > rows[3]["kept_points"]
    assert picture.stat().st_size > 5_000
    text = fugu("evaluate", pipeline_file(tmp_path).path, "--sample", sample).output
    assert "What is left" in text


def test_options_without_effect_are_refused(tmp_path: Path, sample: Path) -> None:
    file = pipeline_file(tmp_path).path
    for arguments, told in (
        (("audit", file, "--steps", "3"), "--steps: anonymize is attacked once"),
        (("evaluate", file, "--sample", sample, "--runs", "3"), "--runs: anonymize adds no noise"),
        (("evaluate", file, "--sample", sample, "--people", "1"), "--people 1: write whole"),
    ):
        result = fugu(*arguments)
        assert isinstance(result.exception, ConfigurationError)
        assert told in str(result.exception)


def test_a_taxonomy_is_shown_with_what_is_released(tmp_path: Path) -> None:
    path = tmp_path / "diseases.yaml"
    path.write_text("Disease:\n  Virus: [Dengue, H1N1]\n  Lung:\n")
    shown = found("taxonomy", "show", path)
    assert [(one["value"], one["level"], one["released_as"]) for one in shown["values"]] == [
        ("Disease", 1, "Disease"),
        ("Virus", 2, "Virus"),
        ("Dengue", 3, "Virus"),
        ("H1N1", 3, "Virus"),
        ("Lung", 2, "Lung"),
    ]
    assert "At privacy_height 2, 3 of them are" in fugu("taxonomy", "show", path).output
