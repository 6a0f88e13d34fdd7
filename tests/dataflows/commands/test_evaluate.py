"""`fugu evaluate`: what it prints and draws, without Kafka and without the pipeline's secret."""

import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner, Result

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.base.install import install
from fugu.dataflows.commands.cli.fugu import app
from tests.dataflows.offline.evaluation.live import OPERATORS
from tests.dataflows.offline.evaluation.samples import POWER
from tests.dataflows.pipeline.pipeline_files import MODEL, PIPELINE

ZONES = ["rest", "light", "vigorous"]


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    (tmp_path / "model.json").write_bytes(orjson.dumps(MODEL))
    path = tmp_path / "pipeline.yaml"
    path.write_text(PIPELINE)
    return path


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    path = tmp_path / "sample.jsonl"
    lines = [{"key": n % 20, "zone": ZONES[n % 3 % 2], "watts": n % 90} for n in range(60)]
    path.write_bytes(b"\n".join(map(orjson.dumps, lines)))
    return path


def evaluated(pipeline: Path, sample: Path, *options: str, width: int = 100) -> Result:
    arguments = ["evaluate", str(pipeline), "--sample", str(sample), "--runs", "2", *options]
    return CliRunner().invoke(app, arguments, env={"COLUMNS": str(width)})


def test_a_table_for_each_question_and_the_nats_in_every_row(pipeline: Path, sample: Path) -> None:
    result = evaluated(pipeline, sample, "--rivals", "paper_crr")
    assert result.exit_code == 0
    assert "heart-zones: 60 records of 20 streams in " in " ".join(result.stdout.split())
    lines = [line.split() for line in result.stdout.splitlines()]
    for nats in (["0.5", "1", "0.5"], ["1", "2", "1"], ["2", "4", "2"]):
        rows = [
            line
            for line in lines
            if line[:1] == ["crr"] and [w for w in line if w != "*"][1:4] == nats
        ]
        assert len(rows) == 5, "one in every table"
        assert all(("*" in row) == (nats[0] == "1") for row in rows), "marked as configured"
    assert sum(line[:5] == ["paper_crr", "!", "1", "none", "none"] for line in lines) == 5
    assert "Keep it inside" in result.stdout
    assert "repeated" not in result.stdout, "there is no budget"


@pytest.mark.parametrize("kind", OPERATORS)
def test_every_operator_of_symbols_is_compared_at_equal_nats(
    kind: str, pipeline: Path, sample: Path
) -> None:
    pipeline.write_text(OPERATORS[kind])
    rival = "grr" if kind == "cold_start_crr" else "crr"
    result = evaluated(pipeline, sample, "--rivals", rival, width=80)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    title = "What was spent, in nats: on a record, by a stream, and by the stream with most"
    spent = lines[lines.index(title) + 1 :]
    heading = spent[0].split()
    assert heading == ["operator", "eps", "ldp", "sip", "record", "stream", "most"]
    words = [line.split() for line in spent[2:9]]
    own = [some for some in words if "*" in some]
    assert [some[0] for some in own] == [kind]
    epsilon, _, sip, record, _, _ = map(float, own[0][-6:])
    assert epsilon == sip >= record > 0
    assert ("held back" in result.stdout) == (kind == "batched_crr")
    assert ("still good" in result.stdout) == (kind == "adaptive_crr")
    assert ("too short to switch" in result.stdout) == (kind == "cold_start_crr")


def test_bad_lines_are_counted_and_not_shown(pipeline: Path, sample: Path) -> None:
    with sample.open("a") as file:
        file.write('\nprivate\n{"key": 1, "zone": "private"}\n{"key": 1, "zone": "private"}\n')
    result = evaluated(pipeline, sample, "--rivals", "crr", "--epsilons", "1")
    assert "- refused, not_json: 1, first in line 61\n" in result.stdout
    assert "- refused, outside_domain (zone): 2, first in line 62\n" in result.stdout
    assert "private" not in result.stdout


def test_a_machine_reads_json_and_nothing_else(pipeline: Path, sample: Path) -> None:
    pipeline.write_text(PIPELINE + "budget: {total: 2}\n")
    options = ["--json", "--rivals", "paper_crr", "--epsilons", "1", "--seed", "4"]
    result = evaluated(pipeline, sample, *options)
    read: Any = orjson.loads(result.stdout)
    assert (read["pipeline"], read["runs"], read["seed"]) == ("heart-zones", 2, 4)
    assert read["sample"] == {
        "file": str(sample),
        "records": 60,
        "streams": 20,
        "refused": [],
    }
    crr, paper = read["candidates"]
    assert (crr["operator"], crr["configured"], crr["sound"]) == ("crr", True, True)
    assert crr["nats_per_release"] == crr["nats_per_record"]
    assert crr["nats_per_record"]["ldp"] == pytest.approx(2.0)
    assert crr["settings"] == {"epsilon": 1.0}
    assert crr["nats_per_stream"]["sip"] == pytest.approx(2.0)
    assert "Sequence Information Privacy with epsilon 2 nats per stream" in crr["guarantees"][0]
    assert (paper["operator"], paper["configured"], paper["sound"]) == ("paper_crr", False, False)
    assert paper["nats_per_release"] == {"ldp": None, "sip": None}
    utility = crr["utility"]
    assert 0 < utility["error_rate"]["value"] < 1
    assert utility["error_rate"]["standard_error"] > 0
    assert 0 < utility["repeated"] < 1
    assert utility["distance"] == "hamming"
    assert utility["mean_distance"] == utility["error_rate"]
    assert utility["spent_per_record"] == pytest.approx(utility["mean_spent"] / 3)
    assert utility["mean_spent"] <= utility["largest_spent"] <= 2.0 + 1e-6
    for shares in (utility["released_shares"], utility["debiased_shares"]):
        assert [some["symbol"] for some in shares["symbols"]] == ZONES
        assert sum(some["share"] for some in shares["symbols"]) == pytest.approx(1)
    assert evaluated(pipeline, sample, *options).stdout == result.stdout
    assert evaluated(pipeline, sample, *options[:-1], "5").stdout != result.stdout


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml")])
def test_a_picture_is_drawn(
    name: str, start: bytes, pipeline: Path, sample: Path, tmp_path: Path
) -> None:
    picture = tmp_path / name
    result = evaluated(
        pipeline, sample, "--plot", str(picture), "--runs", "1", "--rivals", "batched_crr"
    )
    assert result.exit_code == 0
    content = picture.read_bytes()
    assert content.startswith(start)
    assert len(content) > 5_000


def test_numbers_are_evaluated_and_drawn_too(pipeline: Path, sample: Path, tmp_path: Path) -> None:
    pipeline.write_text(POWER)
    picture = tmp_path / "power.png"
    options = ("--epsilon", "1", "--epsilons", "4")
    result = evaluated(pipeline, sample, *options, "--plot", str(picture))
    assert result.exit_code == 0
    assert "The mean of all records" in result.stdout
    assert [line.split()[:3] for line in result.stdout.splitlines() if "laplace *" in line] == [
        ["laplace", "*", "1"]
    ] * 3
    assert len(picture.read_bytes()) > 5_000


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--epsilons", "1,x"], "--epsilons 1,x: write positive numbers"),
        (["--rivals", "gauss"], "--rivals gauss: is no operator that reads the same values"),
        (["--key-field", "user"], "no_key (user): 60, first in line 1. Write one JSON object"),
        (["--plot", "a.pdf"], "the name must end in .png or .svg"),
        (["--plot", "no/a.png"], "there is no directory no; create it first"),
    ],
)
def test_what_cannot_be_done_is_refused_with_what_to_write(
    options: list[str], says: str, pipeline: Path, sample: Path
) -> None:
    error = evaluated(pipeline, sample, *options).exception
    assert isinstance(error, FuguError)
    assert says in str(error)


def test_a_missing_package_is_named_with_its_extra(
    pipeline: Path, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    error = evaluated(pipeline, sample, "--plot", "a.png").exception
    assert str(error) == f"--plot needs matplotlib: {install('audit')}"
