"""`fugu explain` of one file and of several: what is promised, and what it adds up to."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from fugu.dataflows.base.errors import ConfigurationError, StartRefused
from fugu.dataflows.commands.explain import explain
from fugu.dataflows.pipeline.config import PipelineFile
from tests.dataflows.pipeline.pipeline_files import MODEL, PIPELINE

ROOT = Path(__file__).parents[3]
LAW = "first release: probabilities (row = truth, column = released)"


@pytest.fixture(autouse=True)
def model(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_bytes(orjson.dumps(MODEL))


def written(directory: Path, name: str, *changes: tuple[str, str]) -> Path:
    """A pipeline file over `vitals.raw`, with some of its text replaced."""
    text = PIPELINE
    for old, new in [("heart-zones", name), ("vitals.sanitized", f"{name}.out"), *changes]:
        assert text.count(old) == 1, f"{old!r} must occur exactly once"
        text = text.replace(old, new)
    path = directory / f"{name}.yaml"
    path.write_text(text)
    return path


def document(capsys: pytest.CaptureFixture[str], *paths: Path) -> Any:
    explain([PipelineFile.read(path) for path in paths], as_json=True)
    return orjson.loads(capsys.readouterr().out)


def in_words(capsys: pytest.CaptureFixture[str], *paths: Path) -> str:
    explain([PipelineFile.read(path) for path in paths], as_json=False)
    return " ".join(capsys.readouterr().out.split())


def budget(nats: float) -> tuple[str, str]:
    return ("value: zone", f"value: zone\n  budget: {nats}")


def total(nats: float) -> tuple[str, str]:
    return ("sink:", f"budget: {{total: {nats}}}\nsink:")


def test_one_file_is_one_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read = document(capsys, written(tmp_path, "zones"))
    assert read["pipeline"] == "zones"
    assert [guarantee["notion"] for guarantee in read["guarantees"]] == ["sip", "ldp"]
    assert "sums" not in read


def test_what_no_ledger_would_notice_is_not_covered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unnoticed = "a start under this name with an empty state and new topics"
    assert unnoticed in in_words(capsys, written(tmp_path, "zones"))
    ledger = ("sink:", "ledger: {topic: promises}\nsink:")
    assert unnoticed not in in_words(capsys, written(tmp_path, "counted", ledger))


def test_several_files_are_their_documents_and_the_sums(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    zones, moods = written(tmp_path, "zones"), written(tmp_path, "moods", budget(9.5))
    alone = document(capsys, zones)
    read = document(capsys, zones, moods)
    assert read["pipelines"][0] == alone
    assert [pipeline["pipeline"] for pipeline in read["pipelines"]] == ["zones", "moods"]
    [together] = read["sums"]
    assert together["source"] == "vitals.raw"
    assert together["source_budgets"] == [{"epsilon": 9.5, "delta": None, "per": None}]
    assert [(one["pipeline"], one["notion"], one["per"]) for one in together["promises"]] == [
        ("zones", "sip", "release"),
        ("zones", "ldp", "release"),
        ("moods", "sip", "release"),
        ("moods", "ldp", "release"),
    ]
    sip, ldp = together["sums"]
    assert (sip["notion"], sip["epsilon"]) == ("sip", None)
    assert "Add the figures without a model" in sip["why_not"]
    assert ldp["notion"] == "ldp"
    assert ldp["epsilon"] == pytest.approx(4.0, rel=1e-6)
    assert 0.0 <= ldp["delta"] < 1e-9
    assert ldp["delta"] == sum(
        one["delta"] for one in together["promises"] if one["notion"] == "ldp"
    )
    assert (ldp["per"], ldp["window"], ldp["why_not"]) == ("release", None, None)


def test_matrices_are_summed_up_in_words_and_complete_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    symbols = [f"s{number}" for number in range(32)]
    even = [1 / 32] * 32
    content = {**MODEL, "alphabet": symbols, "prior": even, "transition": [even] * 32}
    (tmp_path / "model.json").write_bytes(orjson.dumps(content))
    wide = f"[{', '.join(symbols)}]"
    path = written(tmp_path, "wide", (f"[{', '.join(MODEL['alphabet'])}]", wide))
    assert f"{LAW}: 32 x 32 numbers from " in in_words(capsys, path)
    law = document(capsys, path)["audit"][LAW]
    assert [len(row) for row in law] == [32] * 32


def test_a_small_matrix_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = in_words(capsys, written(tmp_path, "zones"))
    assert f"{LAW}: [[" in said


def test_sums_are_said_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = in_words(
        capsys,
        written(tmp_path, "zones", total(30)),
        written(tmp_path, "moods", total(12), budget(90)),
    )
    assert said.count("What is promised") == 2
    assert "Together, about vitals.raw" in said
    assert "Local Differential Privacy, together: epsilon 84 nats" in said
    assert "per stream, over its whole life" in said
    assert "Sequence Information Privacy, together: no sum: sip figures of different" in said
    assert "source.budget, of Local Differential Privacy: 90 nats." in said


def test_a_promise_of_nothing_is_in_the_table_and_in_no_sum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paper = written(tmp_path, "paper", ("kind: crr", "kind: paper_crr\n  accept_unsound: true"))
    zones = written(tmp_path, "zones")
    assert "no bound" in in_words(capsys, zones, paper)
    [together] = document(capsys, zones, paper)["sums"]
    assert together["promises"][-1]["epsilon"] is None
    assert [one["epsilon"] for one in together["sums"]] == [None, None]


def test_pipelines_over_different_sources_have_no_sum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    zones, moods = written(tmp_path, "zones"), written(tmp_path, "moods", ("vitals.raw", "moods"))
    assert document(capsys, zones, moods)["sums"] == []
    assert "Together" not in in_words(capsys, zones, moods)


def test_a_file_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    zones = written(tmp_path, "zones")
    again = tmp_path / "." / "link.yaml"
    again.symlink_to(zones)
    with pytest.raises(ConfigurationError, match="given twice"):
        explain([PipelineFile.read(zones), PipelineFile.read(again)], as_json=True)


def test_every_source_above_its_budget_is_named(tmp_path: Path) -> None:
    paths = [
        written(tmp_path, "zones", budget(3)),
        written(tmp_path, "moods"),
        written(tmp_path, "beats", budget(1), ("vitals.raw", "beats.raw")),
        written(tmp_path, "steps", budget(2), ("vitals.raw", "steps.raw")),
    ]
    with pytest.raises(StartRefused) as refused:
        explain([PipelineFile.read(path) for path in paths], as_json=True)
    first, second = str(refused.value).splitlines()
    assert first.startswith("source.budget of vitals.raw is 3 nats per release")
    assert second.startswith("source.budget of beats.raw is 1 nats per release")


def test_the_command_exits_with_1_above_a_budget_after_it_has_explained(tmp_path: Path) -> None:
    paths = [written(tmp_path, "zones", budget(3)), written(tmp_path, "moods")]
    command = [sys.executable, "-m", "fugu", "explain", *map(str, paths), "--json"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 1
    assert len(orjson.loads(done.stdout)["pipelines"]) == 2
    assert b"source.budget of vitals.raw is 3 nats" in done.stderr


def rentals(directory: Path, name: str, epsilon: float, *changes: tuple[str, str]) -> Path:
    """The pipeline of the bike-share example, with another name and epsilon."""
    text = (ROOT / "examples/bike_share/pipeline.yaml").read_text()
    own = [("name: bike-share", f"name: {name}"), ("epsilon: 3.0", f"epsilon: {epsilon}")]
    for old, new in [*own, *changes]:
        assert text.count(old) == 1, f"{old!r} must occur exactly once"
        text = text.replace(old, new)
    path = directory / f"{name}.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(("epsilon", "number", "at_most"), [(3.0, 2, 4.2885), (1.0, 10, 3.1405)])
def test_real_time_pipelines_come_to_far_less_than_their_epsilons(
    epsilon: float, number: int, at_most: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At most: noise that zCDP asks for is a little more than the exact account needs."""
    paths = [rentals(tmp_path, f"rentals-{one}", epsilon) for one in range(number)]
    [together] = document(capsys, *paths)["sums"][0]["sums"]
    assert 0.9 * at_most < together["epsilon"] <= at_most
    assert together["delta"] == pytest.approx(number * 1e-6)
    assert together["epsilons_added"] == number * epsilon
    assert together["account"] == "by the exact account of Gaussian noise with pure losses"
    assert "by the exact account of Gaussian noise" in in_words(capsys, *paths)


def test_a_budget_of_epsilon_and_delta_allows_what_pipelines_come_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def allowing(name: str, budget: str) -> Path:
        return rentals(
            tmp_path, name, 3.0, ("value: district", f"value: district\n  budget: {budget}")
        )

    other = rentals(tmp_path, "other", 3.0)
    said = in_words(capsys, allowing("enough", "{epsilon: 4.3, delta: 2.0e-6}"), other)
    assert "source.budget, of Differential Privacy: 4.3 nats and delta 2e-06." in said
    for name, budget, reason in [
        ("less", "{epsilon: 3.5, delta: 2.0e-6}", "come to .* nats and delta 2e-06"),
        ("sharper", "{epsilon: 4.3, delta: 1.0e-9}", "come to .* nats and delta 1e-09"),
        ("finest", "{epsilon: 4.3, delta: 1.0e-12}", "allows a delta of 1e-12, but"),
        ("nats", "3.5", "come to .* nats and delta 2e-06"),
    ]:
        with pytest.raises(StartRefused, match=reason):
            in_words(capsys, allowing(name, budget), other)
