"""`fugu evaluate` of real-time release: what can be run, and what only looks at the true data."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from fugu.dataflows.base.errors import FuguError
from tests.dataflows.commands.test_evaluate_aggregates import evaluated
from tests.dataflows.offline.evaluation.aggregates.samples import (
    KILOWATTS,
    crowd,
    sample_path,
    written,
)

TICKS = 12
FILTERS = ["adaptive", "weight 0.1", "weight 0.3", "weight 0.6", "baseline"]
STRATEGIES = ["uniform", "budget_distribution", "budget_absorption", "binary_tree"]
SIMULATED = [
    "normal (simulated)",
    "fast (true data)",
    "dft (true data, offline)",
    "online_dft (true data, late)",
]


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    return sample_path(tmp_path, crowd(TICKS, users=9))


def pipeline_in(directory: Path, **operator: Any) -> Path:
    shared = {} if {"period", "decay"} & operator.keys() else {"horizon": TICKS}
    section = {"kind": "real_time", "window": None, "epsilon": 2.0, "delta": 1e-6}
    return written(directory, **(section | shared | operator)).path


def test_rows_that_use_true_data_stand_apart_and_say_so(sample: Path, tmp_path: Path) -> None:
    result = evaluated(pipeline_in(tmp_path), sample)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    heading = next(line.split() for line in lines if line.startswith("operator"))
    assert heading == ["operator", "eps", "RE", "MAE", "MSE", "held", "new"]
    epsilons = ["1", "2", "4"]
    names = FILTERS + STRATEGIES + SIMULATED
    wanted = [[name, epsilon] for name in names for epsilon in epsilons]
    found = [
        [name, line.removeprefix(name).replace("*", "").split()[0]]
        for line in lines
        for name in names
        if line.startswith((f"{name}  ", f"{name} *"))
    ]
    assert found == wanted, "one line each, nothing folded"
    assert sum("adaptive *" in line for line in lines) == 1
    text = " ".join(result.stdout.split())
    assert "constant guess" in text
    assert "dft (true data, offline), online_dft (true data, late): simulated, with" in text
    assert "No computer draws that; baseline is what can be run." in text
    assert "It counts ticks and is an average" in text
    assert "binary_tree: run with window: 12" in text
    assert "operator.horizon is" not in text


def test_a_machine_reads_json(sample: Path, tmp_path: Path) -> None:
    pipeline = pipeline_in(tmp_path, groups=None, sum=KILOWATTS, horizon=6)
    options = ["--json", "--epsilons", "2,20,30", "--rivals", "uniform,normal,fast,dft"]
    result = evaluated(pipeline, sample, *options)
    read: Any = orjson.loads(result.stdout)
    own, _, uniform, _ = read["candidates"]
    assert [one["epsilon"] for one in read["candidates"]] == [2.0, 20.0, 2.0, 20.0]
    assert (own["operator"], own["configured"]) == ("real_time", True)
    assert own["settings"] == {
        "epsilon": 2.0,
        "delta": 1e-6,
        "horizon": 6,
        "filter": "adaptive",
        "presentation": "none",
    }
    assert "delta" in own["guarantees"][0]
    assert own["utility"]["share_of_ticks"]["value"] == 0.5
    assert 0.0 < own["utility"]["coverage"]["value"] <= 1.0
    assert own["utility"]["relative_error"]["value"] > 0.0
    assert uniform["settings"] == {"epsilon": 2.0, "window": TICKS}
    simulated = read["simulated"]
    assert [
        (one["name"], one["epsilon"], one["uses_true_data"], one["offline"]) for one in simulated
    ] == [
        ("normal", 2.0, False, False),
        ("normal", 20.0, False, False),
        ("fast", 2.0, True, False),
        ("fast", 20.0, True, False),
        ("dft", 2.0, True, True),
        ("dft", 20.0, True, True),
    ]
    assert [one["utility"]["coverage"] is None for one in simulated] == [False] * 2 + [True] * 4
    assert all("guarantees" not in one for one in simulated)
    assert read["constant_guess"]["uses_true_data"] is True
    assert [note[:32] for note in read["left_out"]] == [
        "left out: adaptive at eps 30: ep",
        "left out: uniform at eps 30: eps",
    ]
    assert any(
        "operator.horizon is 6, and the sample closes 12 ticks: later ones are predicted" in note
        for note in read["notes"]
    )
    assert evaluated(pipeline, sample, *options).stdout == result.stdout
    assert evaluated(pipeline, sample, *options, "--seed", "5").stdout != result.stdout


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ({"horizon": 99}, "operator.horizon is 99, and the sample closes 12 ticks: filters keep"),
        ({"period": 4}, "a user contributes to any 4 ticks in a row. - rivals below the filters"),
        ({"decay": 0.9}, "filters share it among all ticks that will ever come"),
        ({"presentation": "integer"}, "only filters are presented as operator.presentation says"),
    ],
    ids=["horizon", "period", "decay", "presentation"],
)
def test_notes_say_what_makes_rows_unequal(
    section: dict[str, Any], says: str, sample: Path, tmp_path: Path
) -> None:
    result = evaluated(pipeline_in(tmp_path, **section), sample, "--rivals", "normal")
    assert says in " ".join(result.stdout.split())


def test_a_picture_is_drawn(sample: Path, tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    options = ("--plot", str(picture), "--rivals", "uniform,fast")
    assert evaluated(pipeline_in(tmp_path), sample, *options).exit_code == 0
    assert len(picture.read_bytes()) > 20_000


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--windows", "5"], "--windows: real_time has no window to vary; delete it"),
        (["--rivals", "sample"], "--rivals sample: is nothing to compare real_time with. Write"),
        (["--epsilons", "30"], "--epsilons: nothing is left to compare\nleft out: adaptive at"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    options: list[str], says: str, sample: Path, tmp_path: Path
) -> None:
    error = evaluated(pipeline_in(tmp_path), sample, *options).exception
    assert isinstance(error, FuguError)
    assert says in str(error)


def test_a_sample_of_one_tick_is_refused(tmp_path: Path) -> None:
    short = sample_path(tmp_path, crowd(1))
    error = evaluated(pipeline_in(tmp_path), short).exception
    assert "it closes 1 ticks, and a series has at least 2." in str(error)
    assert "--windows" not in str(error)
