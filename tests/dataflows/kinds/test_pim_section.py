"""A pipeline file that asks for PIM over symbols, and what it may not say."""

from pathlib import Path

import numpy as np
import orjson
import pytest

from fugu.dataflows.commands.explain import explain
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.budget import Budgeted
from fugu.operators.sip.distances import Ordered, Points
from fugu.operators.sip.planar_isotropic_response import PlanarIsotropicResponse
from tests.dataflows.pipeline.pipeline_files import MODEL, PIPELINE, read, read_error

PIM = PIPELINE.replace("kind: crr", "kind: pim\n  distance: ordered").replace(
    "sink:", "  accept_growing_loss: true\nsink:", 1
)


def with_model(directory: Path) -> Path:
    (directory / "model.json").write_bytes(orjson.dumps(MODEL))
    return directory


def test_the_set_and_its_distance_are_configured(tmp_path: Path) -> None:
    mechanism = configure(read(with_model(tmp_path), PIM)).mechanism
    assert isinstance(mechanism, PlanarIsotropicResponse)
    assert (mechanism.epsilon, mechanism.delta, mechanism.distance) == (1.0, 0.01, Ordered())


def test_points_come_from_a_file_or_from_the_section(tmp_path: Path) -> None:
    points = [[0.0, 0.0], [0.0, 1.0], [2.0, 2.0]]
    content = {"format": "fugu-points", "format_version": 1, "points": points}
    content["alphabet"] = MODEL["alphabet"]
    (with_model(tmp_path) / "points.json").write_bytes(orjson.dumps(content))
    for form in ("{points: points.json}", f"{{points: {points}}}"):
        text = PIM.replace("distance: ordered", f"distance: {form}\n  delta: 0.2")
        mechanism = configure(read(tmp_path, text)).mechanism
        assert isinstance(mechanism, PlanarIsotropicResponse)
        assert isinstance(mechanism.distance, Points)
        assert np.array_equal(mechanism.distance.coordinates, points)
        assert mechanism.delta == 0.2


@pytest.mark.parametrize("budget", ["", "budget: {total: 5, window: 10}\n"])
def test_a_promise_that_grows_for_life_is_refused_unless_it_is_accepted(
    budget: str, tmp_path: Path
) -> None:
    """A window limits the rate, and not what a stream loses in all."""
    text = PIM.replace("sink:", f"{budget}sink:", 1)
    read(with_model(tmp_path), text)
    refused = read_error(tmp_path, text.replace("  accept_growing_loss: true\n", ""))
    assert "T releases of a stream are T times 1 nats" in refused
    assert "operator.accept_growing_loss: true" in refused


def test_a_budget_for_life_needs_no_acceptance_and_is_the_promise(tmp_path: Path) -> None:
    text = PIM.replace("  accept_growing_loss: true\nsink:", "budget: {total: 5}\nsink:")
    mechanism = configure(read(with_model(tmp_path), text)).mechanism
    assert isinstance(mechanism, Budgeted)
    [promised] = mechanism.guarantees()
    assert promised.per == "stream"
    assert promised.epsilon == pytest.approx(5.0, rel=1e-8)


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("  distance: ordered\n", "", 5, "operator.distance: is required"),
        ("distance: ordered", "distance: hamming", 7, "hamming has no nearest symbol"),
        ("distance: ordered", "distance: ordered\n  delta: 0", 8, "more than 0"),
        ("distance: ordered", "distance: ordered\n  delta: 1", 8, "less than 1"),
        ("distance: ordered", "distance: {points: [[0], [1]]}", 7, "has 2 points"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(
    old: str, new: str, line: int, says: str, tmp_path: Path
) -> None:
    error = read_error(with_model(tmp_path), PIM.replace(old, new))
    assert error.startswith(f"pipeline.yaml:{line}: ")
    assert says in error


def test_explain_says_what_is_promised_and_what_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    explain([read(with_model(tmp_path), PIM)])
    told = " ".join(capsys.readouterr().out.split())
    assert "Local Differential Privacy with epsilon 1 nats per release" in told
    assert "released as if it were the nearest member" in told
    assert "a path, or one position given all releases" in told
    assert "first release: cells in the set" in told
