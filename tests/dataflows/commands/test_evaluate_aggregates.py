"""`fugu evaluate` of aggregates: tables, notes, JSON, the picture, and what is refused."""

from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from typer.testing import CliRunner, Result

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.commands.cli.fugu import app
from fugu.dataflows.offline.evaluation.aggregates.strategies import STRATEGIES
from tests.dataflows.offline.evaluation.aggregates.samples import (
    KILOWATTS,
    PIPELINE,
    crowd,
    line,
    sample_path,
    written,
)
from tests.dataflows.pipeline.pipeline_files import MODEL
from tests.dataflows.pipeline.pipeline_files import PIPELINE as ZONES

TICKS = 20


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    lines = crowd(TICKS, users=9)
    return sample_path(tmp_path, [*lines, line("u1", 0), line("u1", 21_000, "nowhere")])


def evaluated(pipeline: Path, sample: Path, *options: str, width: int = 80) -> Result:
    arguments = ["evaluate", str(pipeline), "--sample", str(sample), "--runs", "2", *options]
    return CliRunner().invoke(app, arguments, env={"COLUMNS": str(width)})


@pytest.mark.parametrize("width", [80, 120])
def test_all_strategies_stand_beside_the_pipeline_and_the_constant_guess(
    width: int, sample: Path, tmp_path: Path
) -> None:
    pipeline = written(tmp_path, kind="budget_distribution").path
    result = evaluated(pipeline, sample, "--windows", "5,8", width=width)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= width
    words = [some.split() for some in lines]
    headings = [some for some in words if some[:1] == ["operator"]]
    assert headings == [
        ["operator", "eps", "window", "MAE", "MSE", "MRE"],
        ["operator", "eps", "window", "median", "95", "%", "in", "a", "run", "of", "ticks"],
    ]
    for kind in STRATEGIES:
        rows = [[word for word in some if word != "*"] for some in words if some[:1] == [kind]]
        both_tables = [[epsilon, window] for window in "58" for epsilon in ("0.5", "1", "2")] * 2
        assert [row[1:3] for row in rows] == both_tables
    assert sum(some[:4] == ["budget_distribution", "*", "1", "5"] for some in words) == 2
    assert [some[:2] for some in words].count(["constant", "guess"]) == 2
    text = " ".join(result.stdout.split())
    assert f"the sample closes {TICKS} ticks of 3 groups; 1 more open at its end" in text
    assert "- refused, late: 1, first in line 182" in text
    assert "- refused, outside_domain (zone): 1, first in line 183" in text
    assert "nowhere" not in text
    assert "what operator.groups does not list. Add it there" in text
    assert "It uses the true data" in text
    assert "pba has flags: false here" in text


def test_one_window_is_no_column_and_short_samples_are_said_to_be(
    sample: Path, tmp_path: Path
) -> None:
    result = evaluated(written(tmp_path, window=10).path, sample, "--rivals", "sample")
    assert "window " not in result.stdout.split("- refused")[1].split("How often")[0]
    text = " ".join(result.stdout.split())
    assert "eps: nats in any 10 ticks in a row." in text
    assert "the sample has only 2 windows of 10 ticks" in text


def test_a_machine_reads_json(sample: Path, tmp_path: Path) -> None:
    pipeline = written(tmp_path, groups=None, sum=KILOWATTS).path
    options = ["--json", "--epsilons", "1,15", "--rivals", "sample", "--windows", "5,10"]
    result = evaluated(pipeline, sample, *options)
    read: Any = orjson.loads(result.stdout)
    assert read["figures"] == {"ticks": TICKS, "open_ticks": 2, "groups": 1, "mean": 3.6}
    assert read["constant_guess"] == {
        "uses_true_data": True,
        **{
            f"mean_{name}_error": {"value": pytest.approx(0.0, abs=1e-9), "standard_error": None}
            for name in ("absolute", "squared", "relative")
        },
        "absolute_error_quantiles": {
            name: pytest.approx(0.0, abs=1e-9) for name in ("5%", "25%", "50%", "75%", "95%")
        },
    }
    assert [refused["reason"] for refused in read["sample"]["refused"]] == ["late"]
    assert [(one["operator"], one["window"], one["epsilon"]) for one in read["candidates"]] == [
        (kind, window, epsilon)
        for kind in ("uniform", "sample")
        for window in (5, 10)
        for epsilon in (1.0, 15.0)
    ]
    own, *_, rival = read["candidates"]
    assert (own["configured"], rival["configured"]) == (True, False)
    assert own["settings"] == {"epsilon": 1.0, "window": 5}
    assert "per window of 5 consecutive ticks of " in own["guarantees"][0]
    assert own["utility"]["publications"] == {"value": TICKS, "standard_error": 0.0}
    assert rival["utility"]["share_of_ticks"]["value"] == 0.1
    error = own["utility"]["mean_absolute_error"]
    assert 10.0 < error["value"] < 40.0, "5 ticks of 5 kilowatts each, at epsilon 1"
    assert error["standard_error"] > 0.0
    assert evaluated(pipeline, sample, *options).stdout == result.stdout
    assert evaluated(pipeline, sample, *options, "--seed", "5").stdout != result.stdout


@pytest.mark.parametrize(
    ("name", "start", "windows"), [("a.png", b"\x89PNG", "5"), ("a.svg", b"<?xml", "5,10")]
)
def test_a_picture_is_drawn(
    name: str, start: bytes, windows: str, sample: Path, tmp_path: Path
) -> None:
    picture = tmp_path / name
    options = ("--plot", str(picture), "--windows", windows, "--rivals", "sample")
    assert evaluated(written(tmp_path).path, sample, *options).exit_code == 0
    content = picture.read_bytes()
    assert content.startswith(start)
    assert len(content) > 20_000


def test_what_a_strategy_does_not_take_is_left_out_and_said(sample: Path, tmp_path: Path) -> None:
    result = evaluated(written(tmp_path, epsilon=15.0).path, sample, "--rivals", "sample")
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    assert "left out: uniform with window 5 at eps 30: epsilon: must be above 0 and at" in text


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--windows", "0,5"], "--windows 0,5: write whole numbers of ticks"),
        (["--windows", "5,x"], "--windows 5,x: write whole numbers of ticks"),
        (["--rivals", "laplace"], "--rivals laplace: is nothing to compare uniform with. Write"),
        (["--epsilons", "30"], "--epsilons: nothing is left to compare\nleft out: uniform with"),
        (["--range", "0,1"], "--range: uniform does not displace values; delete it"),
        (
            ["--windows", "5,21"],
            "closes 20 ticks, and a window has 21 (refused: outside_domain (zone): 1, first in "
            "line 183; late: 1, first in line 182). Give records of a longer time",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(
    options: list[str], says: str, sample: Path, tmp_path: Path
) -> None:
    error = evaluated(written(tmp_path).path, sample, *options).exception
    assert isinstance(error, FuguError)
    assert says in str(error)


def test_a_sample_without_any_known_group_shows_what_to_write(tmp_path: Path) -> None:
    lines = sample_path(tmp_path, [line("a", 500, "private")])
    error = evaluated(written(tmp_path).path, lines).exception
    assert "outside_domain (zone): 1, first in line 1" in str(error)
    assert 'such as  {"key": "user-1", "zone": …, "at": …}' in str(error)
    assert "private" not in str(error)


def test_times_must_be_in_the_lines(sample: Path, tmp_path: Path) -> None:
    pipeline = tmp_path / "pipeline.yaml"
    pipeline.write_text(yaml.safe_dump(PIPELINE | {"source": {"topic": "trips", "value": "zone"}}))
    error = evaluated(pipeline, sample).exception
    assert "operator.ticks counts time" in str(error)
    assert "write source.timestamp: {field:" in str(error)


def test_windows_are_refused_for_others(sample: Path, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_bytes(orjson.dumps(MODEL))
    pipeline = tmp_path / "pipeline.yaml"
    pipeline.write_text(ZONES)
    error = evaluated(pipeline, sample, "--windows", "5").exception
    assert str(error) == "--windows: crr has no window to vary; delete it"
