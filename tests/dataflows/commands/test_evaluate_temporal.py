"""`fugu evaluate` of operators that displace values: tables, notes, JSON and the picture."""

from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from typer.testing import CliRunner, Result

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.commands.cli.fugu import app
from tests.dataflows.pipeline.pipeline_files import MODEL, PIPELINE
from tests.dataflows.stages.displaced.running import PIPELINE as TEMPORAL

OPERATOR = {"kind": "temporal_perturbation", "window": 10, "epsilon": 3.5}


def written(directory: Path, **sections: Any) -> Path:
    path = directory / "pipeline.yaml"
    path.write_text(yaml.safe_dump(TEMPORAL | {"operator": OPERATOR} | sections))
    return path


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    path = tmp_path / "sample.jsonl"
    lines = [
        {"key": n % 3, "bpm": 60 + n % 7, "at": n, "zone": "rest", "place": [n]} for n in range(120)
    ]
    path.write_bytes(b"\n".join(map(orjson.dumps, lines)))
    return path


def evaluated(pipeline: Path, sample: Path, *options: str, width: int = 80) -> Result:
    arguments = ["evaluate", str(pipeline), "--sample", str(sample), "--runs", "2", *options]
    return CliRunner().invoke(app, arguments, env={"COLUMNS": str(width)})


@pytest.mark.parametrize("width", [80, 120])
def test_rivals_and_baselines_stand_beside_the_pipeline(
    width: int, sample: Path, tmp_path: Path
) -> None:
    result = evaluated(written(tmp_path), sample, "--range", "40,180", width=width)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= width
    headings = [line.split() for line in lines if line.startswith("operator ")]
    costs = ["operator", "eps", "law", "missing", "repeated", "empty", "delay", "total"]
    assert headings == [
        costs,
        costs,
        ["operator", "eps", "law", "mean", "absolute", "error", "leaves", "late", "by"],
        ["operator", "eps", "law", "plain", "filled", "moved"],
        ["operator", "eps", "law", "plain", "moved", "lag"],
    ]
    measured = lines[lines.index("Per value, measured") : lines.index("Per value, expected")]
    assert "forward" in "".join(measured)
    assert "eps/2" not in "".join(measured)
    assert sum(line.startswith("grr, eps/2 ") for line in lines) == 3
    assert sum(line.startswith("laplace, eps/2 ") for line in lines) == 6
    assert "threshold *" in result.stdout
    words = " ".join(result.stdout.split())
    assert "left out: threshold at eps 1.52: epsilon: 1.52 nats are below the smallest" in words
    assert "left out: extended_threshold at eps 3.04, 6.08: it drops nothing" in words
    assert "temporal_perturbation chooses" in words
    assert "the first window of each epoch is measured too" in words
    assert "with costs of 10, 10 and 10 each" in words


def test_payloads_that_are_no_numbers_have_costs_only(sample: Path, tmp_path: Path) -> None:
    lists = OPERATOR | {"ticks": {"width": "10ms", "several": "list"}}
    for value, operator in (
        ("zone", OPERATOR),
        ("place", OPERATOR),
        (["bpm", "zone"], OPERATOR),
        ("bpm", lists),
    ):
        source = TEMPORAL["source"] | {"value": value}
        options = ("--epsilons", "3.5", "--rivals", "forward_perturbation,grr")
        result = evaluated(written(tmp_path, source=source, operator=operator), sample, *options)
        assert result.exit_code == 0
        assert "These are the costs only" in " ".join(result.stdout.split())
        assert "Per value, expected" in result.stdout
        assert "MSE" not in result.stdout
        assert "laplace" not in result.stdout


def test_a_machine_reads_json(sample: Path, tmp_path: Path) -> None:
    options = ["--json", "--epsilons", "3.5", "--rivals", "grr,laplace", "--range", "0,100"]
    result = evaluated(written(tmp_path), sample, *options, "--count-above", "62.5")
    read: Any = orjson.loads(result.stdout)
    own, laplace, grr = read["candidates"]
    assert (own["configured"], own["operator"]) == (True, "temporal_perturbation")
    assert own["settings"] == {
        "kind": "threshold_perturbation",
        "window": 10,
        "threshold": 5,
        "acceptance": 1.0,
    }
    utility = own["utility"]
    assert utility["lag"] == utility["expected_costs"]["delay"]["value"] == 5
    assert utility["delay_law_epsilon"] == pytest.approx(3.038, abs=1e-3)
    assert utility["expected_costs"]["total"]["value"] == 5
    assert utility["count"]["moved"]["value"] < utility["count"]["plain"]["value"]
    assert laplace["nats_per_record"]["ldp"] == grr["nats_per_record"]["ldp"] == 1.75
    assert laplace["utility"]["count"]["plain"] is None
    assert grr["utility"]["average"]["plain"] is None
    assert grr["utility"]["costs"]["total"] is None
    assert read["numbers"] == {"average": 10, "count_above": 62.5, "range": [0.0, 100.0]}
    assert read["left_out"] == []


def test_rivals_are_compared_at_the_epsilon_that_laws_really_have(
    sample: Path, tmp_path: Path
) -> None:
    """The threshold of epsilon 3.5 has 3.038; forward perturbation once stood there with 5.6."""
    rivals = "backward_perturbation,forward_perturbation"
    for epsilons in ((), ("--epsilons", "3.5")):
        result = evaluated(written(tmp_path), sample, "--json", "--rivals", rivals, *epsilons)
        candidates: Any = orjson.loads(result.stdout)["candidates"]
        laws = {
            (one["operator"], one["epsilon"]): one["utility"]["delay_law_epsilon"]
            for one in candidates
        }
        assert all(law <= epsilon + 1e-9 for (_, epsilon), law in laws.items())
        [own] = [one for one in candidates if one["configured"]]
        assert own["utility"]["delay_law_epsilon"] == pytest.approx(3.0381, abs=1e-4)
        assert laws["forward_perturbation", 3.5 if epsilons else 3.04] > 3.0


def test_a_cold_start_is_marked_for_promising_nothing(sample: Path, tmp_path: Path) -> None:
    cold = {"kind": "threshold_perturbation", "window": 10, "epsilon": 3.5, "start": "cold"}
    cold["accept_unsound"] = True
    result = evaluated(written(tmp_path, operator=cold), sample, "--rivals", "grr")
    words = [line.split() for line in result.stdout.splitlines()]
    assert sum(some[:5] == ["threshold", "*", "!", "3.04", "none"] for some in words) == 5
    assert "! promises nothing: with operator.start: cold" in " ".join(result.stdout.split())


def test_a_picture_is_drawn(sample: Path, tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    result = evaluated(written(tmp_path), sample, "--plot", str(picture), "--average", "3")
    assert result.exit_code == 0
    assert "of the last 3 ticks" in " ".join(result.stdout.split())
    assert len(picture.read_bytes()) > 20_000


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--range", "180,40"], "--range 180,40: write two numbers with a comma between them"),
        (["--range", "0,1e400"], "--range 0,1e400: write two numbers"),
        (["--rivals", "crr"], "--rivals crr: is nothing to compare temporal_perturbation with"),
        (["--epsilons", "99", "--rivals", "grr"], "nothing is left to compare\nleft out: "),
    ],
)
def test_what_cannot_be_compared_is_refused(
    options: list[str], says: str, sample: Path, tmp_path: Path
) -> None:
    forward = {"kind": "forward_perturbation", "window": 10, "epsilon": 5.0}
    pipeline = written(tmp_path, operator=forward if "99" in options else OPERATOR)
    error = evaluated(pipeline, sample, *options).exception
    assert isinstance(error, FuguError)
    assert says in str(error)


def test_ticks_of_event_time_need_a_time_in_every_line(sample: Path, tmp_path: Path) -> None:
    operator = OPERATOR | {"ticks": {"width": "1s"}}
    source = {"topic": "raw", "value": "bpm"}
    error = evaluated(written(tmp_path, operator=operator, source=source), sample).exception
    assert "write source.timestamp: {field:" in str(error)


@pytest.mark.parametrize(
    "option", [("--range", "0,1"), ("--average", "3"), ("--count-above", "1")], ids=lambda o: o[0]
)
def test_options_of_displaced_numbers_are_refused_for_others(
    option: tuple[str, str], sample: Path, tmp_path: Path
) -> None:
    (tmp_path / "model.json").write_bytes(orjson.dumps(MODEL))
    pipeline = tmp_path / "pipeline.yaml"
    pipeline.write_text(PIPELINE)
    error = evaluated(pipeline, sample, *option).exception
    assert str(error) == f"{option[0]}: crr does not displace values; delete it"
