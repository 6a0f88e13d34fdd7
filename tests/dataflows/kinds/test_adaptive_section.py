"""A pipeline file that asks to publish anew or to repeat, and what it may not say."""

from pathlib import Path

import numpy as np
import orjson
import pytest

from fugu.dataflows.commands.explain import explain
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.records.symbols import Symbols
from fugu.operators.budget import Budgeted
from fugu.operators.mechanism import Inputs, Kind
from fugu.operators.randomness import DrawScope, Secret, record_positions
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.distances import Points
from tests.dataflows.pipeline.pipeline_files import MODEL, PIPELINE, read, read_error

ADAPTIVE = PIPELINE.replace("kind: crr", "kind: adaptive_crr\n  decision_epsilon: 2.5")


def with_model(directory: Path) -> Path:
    (directory / "model.json").write_bytes(orjson.dumps(MODEL))
    return directory


@pytest.mark.parametrize(("added", "distance"), [("", "symbol"), ("  distance: steps\n", "steps")])
def test_both_epsilons_and_the_distance_are_configured(
    added: str, distance: str, tmp_path: Path
) -> None:
    text = ADAPTIVE.replace("sink:", f"{added}sink:")
    mechanism = configure(read(with_model(tmp_path), text)).mechanism
    assert isinstance(mechanism, AdaptiveRelease)
    assert (mechanism.decision_epsilon, mechanism.release_epsilon) == (2.5, 1.0)
    assert mechanism.distance == distance


def test_points_say_what_is_near_enough(tmp_path: Path) -> None:
    places = "  distance: {points: [[0, 0], [0, 1], [5, 5]]}\nsink:"
    text = ADAPTIVE.replace("sink:", places)
    mechanism = configure(read(with_model(tmp_path), text)).mechanism
    assert isinstance(mechanism, AdaptiveRelease)
    assert isinstance(mechanism.distance, Points)
    assert mechanism.distance.coordinates.tolist() == [[0.0, 0.0], [0.0, 1.0], [5.0, 5.0]]


def test_a_repeated_release_is_written_as_such_also_under_a_window(tmp_path: Path) -> None:
    text = ADAPTIVE.replace("sink:", "budget: {total: 40, window: 8}\nsink:")
    configured = configure(read(with_model(tmp_path), text))
    mechanism, domain = configured.mechanism, configured.codec.domain
    assert isinstance(mechanism, Budgeted)
    assert isinstance(domain, Symbols)
    scope = DrawScope(Secret(bytes(32)), "tests", "op", 1, mechanism.law_digest())
    draws = scope.draws([b"key"] * 50, record_positions("topic", 0, range(50)))
    _, releases = mechanism.step(mechanism.start(50), Inputs(np.arange(50) % 3), draws)
    assert releases.kinds is not None
    written = [orjson.loads(record) for record in domain.write(releases)]
    repeated = [record.get("repeated", False) for record in written]
    assert repeated == (releases.kinds == Kind.REPEATED).tolist()
    assert 0 < sum(repeated) < 50
    assert all(0.0 < record["confidence"] < 1.0 for record in written)


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("  decision_epsilon: 2.5\n", "", 5, "operator.decision_epsilon: is required"),
        ("decision_epsilon: 2.5", "decision_epsilon: 0", 7, "more than 0"),
        ("decision_epsilon: 2.5", "decision_epsilon: 51", 7, "at most 50"),
        ("decision_epsilon: 2.5", "decision_epsilon: 1\n  distance: far", 8, "operator.distance"),
        ("decision_epsilon: 2.5", "decision_epsilon: 1\n  distance: ordered", 8, "is called steps"),
        ("  model: model.json\n", "", 5, "operator.model: is required"),
    ],
)
def test_an_error_names_the_line_and_what_to_write(
    old: str, new: str, line: int, says: str, tmp_path: Path
) -> None:
    assert ADAPTIVE.count(old) == 1
    error = read_error(tmp_path, ADAPTIVE.replace(old, new))
    assert error.startswith(f"pipeline.yaml:{line}: ")
    assert says in error


def test_an_explanation_says_that_a_repeated_release_is_information(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    explain([read(with_model(tmp_path), ADAPTIVE)], as_json=False)
    said = " ".join(capsys.readouterr().out.split())
    assert "Sequence Information Privacy with epsilon 3.5 nats per release" in said
    assert "fresh or repeated: that bit is charged" in said
    assert "that is information, and it is counted in the promise" in said
