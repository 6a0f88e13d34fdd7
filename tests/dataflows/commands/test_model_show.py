"""`fugu model show`: figures that agree with closed forms, as a table and as JSON."""

from math import log
from pathlib import Path
from typing import Any

import orjson
import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.model_show import show
from tests.dataflows.files.sparse_models import SPARSE
from tests.dataflows.pipeline.pipeline_files import MODEL


def document(
    directory: Path, capsys: pytest.CaptureFixture[str], model: Any, *epsilons: float
) -> Any:
    path = directory / "model.json"
    path.write_bytes(orjson.dumps(model))
    show(path, list(map(str, epsilons)), rows=2, as_json=True)
    return orjson.loads(capsys.readouterr().out)


def entropy(*probabilities: float) -> float:
    return -sum(p * log(p) for p in probabilities if p > 0.0)


BINARY = MODEL | {
    "alphabet": ["up", "down"],
    "prior": "uniform",
    "transition": [[0.9, 0.1], [0.3, 0.7]],
    "smoothing": 0.0,
}


def test_a_chain_is_described_by_closed_forms(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read = document(tmp_path, capsys, BINARY, 1.0)
    expected = 0.75 * entropy(0.9, 0.1) + 0.25 * entropy(0.3, 0.7)
    assert read["entropy_rate_in_nats"] == pytest.approx(expected)
    assert [one["symbol"] for one in read["stationary"]] == ["up", "down"]
    assert [one["share"] for one in read["stationary"]] == pytest.approx([0.75, 0.25])
    first, second = read["strongest_transitions"]
    assert (first["from"], first["to"], first["probability"]) == (["up"], "up", 0.9)
    assert first["share_of_records"] == pytest.approx(0.675)
    assert (second["from"], second["to"]) == (["down"], "down")
    assert (read["order"], read["symbols"], read["pairs"]) == (1, 2, 0)


def test_independent_symbols_have_the_accuracy_of_section_10(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """1 - 1/(2 e^eps) for a fair bit, whatever is drawn."""
    fair = BINARY | {"transition": [[0.5, 0.5], [0.5, 0.5]]}
    read = document(tmp_path, capsys, fair, log(2.0), log(10.0))
    assert [one["accuracy"] for one in read["expected"]] == pytest.approx([0.75, 0.95])
    spent = [one["nats_per_release"] for one in read["expected"]]
    assert spent == pytest.approx([log(2.0), log(10.0)])


def test_a_chain_of_second_order_is_shown_and_simulated_the_same_each_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read = document(tmp_path, capsys, SPARSE, 0.5, 4.0)
    assert (read["order"], read["pairs"]) == (2, 1)
    low, high = read["expected"]
    assert read["always_the_most_frequent_is_right"] < low["accuracy"] < high["accuracy"] < 1.0
    assert document(tmp_path, capsys, SPARSE, 4.0)["expected"] == [high]


def test_people_read_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.json"
    learned = {"source": "a survey", "date": "2024-05-01", "alphabet": "sorted"}
    path.write_bytes(orjson.dumps(SPARSE | {"learned": learned, "description": "Zones."}))
    show(path, ["4.0"], rows=9, as_json=False)
    said = " ".join(capsys.readouterr().out.split())
    for part in ("3 symbols, order 2, 1 pairs", "a survey", "Zones.", "rest light", "fixed seed"):
        assert part in said


def test_a_bad_model_or_epsilon_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(orjson.dumps(BINARY | {"transition": [[0.9, 0.1], [0.3, 0.8]]}))
    with pytest.raises(ConfigurationError, match=r"^[^:]*model.json: transition row 1: .* sum to"):
        show(path, ["1.0"], rows=1, as_json=True)
    path.write_bytes(orjson.dumps(BINARY))
    with pytest.raises(ConfigurationError, match="--epsilon: must be above 0"):
        show(path, ["0.0"], rows=1, as_json=True)
