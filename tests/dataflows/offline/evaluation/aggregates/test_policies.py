"""`fugu evaluate` of pipelines under policies: what is compared, how, and what is refused."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import yaml
from typer.testing import CliRunner, Result

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.commands.cli.fugu import app
from fugu.dataflows.offline.evaluation.aggregates.figures import Summed
from fugu.dataflows.offline.evaluation.aggregates.strategies import (
    RIVALS,
    UNDER_POLICIES,
    PolicyFamily,
)
from fugu.dataflows.offline.evaluation.family import Wanted
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from tests.dataflows.offline.evaluation.aggregates.live import SECRET, city, live
from tests.dataflows.offline.evaluation.aggregates.samples import (
    FIRST_TICK,
    PIPELINE,
    START,
    crowd,
    operator_of,
    sample_of,
    sample_path,
)

TICKS, LONGEST = 25, 12


def policy(name: str, first: int, ticks: int, theta: float) -> dict[str, Any]:
    """Open for so many ticks of the sample, from `first` on."""
    start, end = (
        datetime.fromtimestamp(START / 1_000 + tick, UTC).isoformat()
        for tick in (first, first + ticks)
    )
    interval = {"start": start, "end": end}
    return {"id": name, "interval": interval, "pattern": {"ticks": 2}, "theta": theta}


POLICIES = [policy("tea", 2, 5, 1.0), policy("sauna", 4, LONGEST, 3.0), policy("ball", 90, 50, 2.0)]
"""The last one is after the sample."""


def under_policies(directory: Path, **operator: Any) -> PipelineFile:
    """The pipeline file beside its document, with these changes to its operator."""
    document = {
        "version": 1,
        "grid": {"tick": "PT1S", "zone": "UTC"},
        "query": {"kind": "sum", "unit": "kW", "cap": 5, "resolution": 0.1},
        "epsilon": 5.0,
        "collections": [
            {"id": "home", "applies_to": {"default": True}, "policies": POLICIES},
            {"id": "shop", "applies_to": {"keys": ["u3"]}, "policies": []},
        ],
    }
    (directory / "policies.yaml").write_text(yaml.safe_dump(document))
    section = {
        "kind": "unicorn",
        "policies": "policies.yaml",
        "irrelevant": "exact",
        "ticks": {"grace": "500ms", "max_jump": 30, "stream_time": {"distinct_keys": 1}},
    }
    pipeline = PIPELINE | {
        "source": PIPELINE["source"] | {"value": "kw"},
        "operator": section | operator,
    }
    path = directory / "pipeline.yaml"
    path.write_text(yaml.safe_dump(pipeline))
    return PipelineFile.read(path)


def planned(directory: Path, rivals: str | None = None, **operator: Any) -> PolicyFamily:
    file = under_policies(directory, **operator)
    sample = sample_of(directory, file, crowd(TICKS, users=9))
    return PolicyFamily.planned(file, sample, Wanted("5", rivals))


@pytest.mark.parametrize("kind", UNDER_POLICIES)
def test_releases_are_those_of_the_live_pipeline(kind: str, tmp_path: Path) -> None:
    window = {"window": LONGEST} if kind.startswith("ts_") else {}
    file = under_policies(tmp_path, kind=kind, **window)
    sample = sample_of(tmp_path, file, city(users=12, ticks=TICKS))
    summed = Summed.of(file.pipeline, operator_of(file), sample)
    figures = summed.released(configure(file).mechanism, SECRET)
    found = list(live(file, sample.path, SECRET))
    assert figures.values.tolist() == found
    assert len(found) == summed.ticks >= 20
    exact = (figures.values == summed.truth())[:, 0]
    ticks = np.arange(summed.ticks) + summed.numbers[0] - FIRST_TICK
    hidden = (ticks >= 2) & (ticks < 4 + LONGEST)
    assert exact[~hidden].all()
    assert not exact[hidden].all()


def test_all_strategies_are_compared_in_windows_of_the_longest_interval(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    assert [one.kind for one in plan.grid.candidates] == list(RIVALS)
    assert {one.window for one in plan.grid.candidates} == {LONGEST}
    assert plan.own == ("unicorn", 5.0, LONGEST)


def test_the_window_of_the_pipeline_counts_where_it_has_one(tmp_path: Path) -> None:
    plan = planned(tmp_path, "uniform,unicorn_ps,ts_sample", kind="ts_sample", window=20)
    found = [(one.kind, one.window) for one in plan.grid.candidates]
    assert found == [("ts_sample", 20), ("uniform", 20), ("unicorn_ps", 20)]


def test_boxes_are_quantiles_of_what_figures_err(tmp_path: Path) -> None:
    """Most ticks are exact under policies, and `uniform` has Laplace noise at all of them: half of
    it is below log 2 scales, and 95 % below log 20."""
    plan = planned(tmp_path, "uniform")
    own, uniform = (row.utility.errors.spread for row in plan.report(runs=30, seed=1).rows)
    assert (own.low, own.lower) == (0.0, 0.0)
    assert 0.0 < own.high < uniform.high
    scale = 5.0 * LONGEST / 5.0
    assert uniform.median == pytest.approx(np.log(2.0) * scale, rel=0.15)
    assert uniform.high == pytest.approx(np.log(20.0) * scale, rel=0.15)


def evaluated(directory: Path, *options: str) -> Result:
    pipeline = under_policies(directory).path
    sample = sample_path(directory, crowd(TICKS, users=9))
    arguments = ["evaluate", str(pipeline), "--sample", str(sample), "--runs", "2", *options]
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "80"})


def test_people_read_medians_and_see_a_box_for_each_strategy(tmp_path: Path) -> None:
    result = evaluated(tmp_path, "--epsilons", "5,10", "--plot", str(tmp_path / "picture.svg"))
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    headings = [some.split() for some in lines if some.startswith("operator ")]
    assert headings[1][:5] == ["operator", "eps", "median", "95", "%"]
    text = " ".join(result.stdout.split())
    assert f"eps holds in any {LONGEST} ticks in a row, for whatever a user contributes" in text
    assert "25 ticks of 1 group;" in text
    picture = (tmp_path / "picture.svg").read_text()
    for name in (*RIVALS, "epsilon 5, as configured", "epsilon 10", "the only group"):
        assert f"<!-- {name}" in picture or f": {name} -->" in picture


def test_people_read_whose_noise_it_is_and_what_is_erred_there(tmp_path: Path) -> None:
    lines = evaluated(tmp_path, "--rivals", "sample", "--epsilons", "5").stdout.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("whose"))
    heads = "whose ticks noise alone sets Δ_t sets δ without error"
    assert " ".join(lines[start].split()) == heads
    rows = lines[start + 2 : lines.index("", start)]
    names = [row.split()[0].strip(",") for row in rows if re.search(r"\d", row)]
    assert names == ["everybody", "home", "sauna", "tea", "ball", "shop"]


def test_machines_read_whose_noise_it_is(tmp_path: Path) -> None:
    options = "--json", "--rivals", "sample", "--epsilons", "5"
    read: Any = orjson.loads(evaluated(tmp_path, *options).stdout)
    found = read["noise"]
    home, shop = found["collections"]["home"], found["collections"]["shop"]
    assert found["mean"] == pytest.approx(home["mean_saved_without"])
    assert (shop["ticks"], shop["mean_error_there"]) == (0, None)
    errors = read["candidates"][0]["utility"]["mean_absolute_error"]["value"] * found["ticks"]
    assert home["mean_error_there"] * home["ticks"] == pytest.approx(errors)


def test_machines_read_quantiles(tmp_path: Path) -> None:
    read: Any = orjson.loads(evaluated(tmp_path, "--json", "--rivals", "sample").stdout)
    for one in (*(some["utility"] for some in read["candidates"]), read["constant_guess"]):
        quantiles = list(one["absolute_error_quantiles"].values())
        assert quantiles == sorted(quantiles)
        assert len(quantiles) == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rivals", "uniform,pba"], "--rivals pba: is nothing to compare unicorn with. Write"),
        (["--windows", "5,10"], "--windows: unicorn has no window to vary; delete it"),
        (["--epsilons", "1e-12"], "--epsilons: nothing is left to compare"),
    ],
    ids=["rival", "windows", "epsilon"],
)
def test_what_cannot_be_compared_is_refused(
    options: list[str], message: str, tmp_path: Path
) -> None:
    result = evaluated(tmp_path, *options)
    assert isinstance(result.exception, FuguError)
    assert message in str(result.exception)


def test_a_sample_that_closes_no_tick_is_refused(tmp_path: Path) -> None:
    file = under_policies(tmp_path)
    with pytest.raises(FuguError, match="it closes 0 ticks, and a figure takes 1"):
        PolicyFamily.planned(file, sample_of(tmp_path, file, crowd(0)), Wanted("5"))
