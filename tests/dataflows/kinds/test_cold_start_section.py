"""A pipeline file without a model, whose streams learn their own, and what it may not say."""

from pathlib import Path

import numpy as np
import orjson
import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.explain import explain
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.records.symbols import Symbols
from fugu.operators.mechanism import Inputs
from fugu.operators.randomness import DrawScope, Secret, record_positions
from fugu.operators.sip.cold_start import ColdStart
from fugu.operators.sip.distances import Points
from tests.dataflows.pipeline.pipeline_files import PIPELINE, read, read_error

COLD = PIPELINE.replace("kind: crr", "kind: cold_start_crr").replace("  model: model.json\n", "")
SHORT = COLD.replace("sink:", "  positions: 20\n  when_short: accept\nsink:")


def test_without_more_ado_as_many_positions_as_are_enough(tmp_path: Path) -> None:
    configured = configure(read(tmp_path, COLD))
    assert isinstance(configured.mechanism, ColdStart)
    assert configured.mechanism.symbols == 3
    assert configured.mechanism.positions == configured.mechanism.enough_positions == 25_585
    assert isinstance(configured.codec.domain, Symbols)


def test_points_say_what_an_error_costs(tmp_path: Path) -> None:
    places = "  distance: {points: [[0, 0], [0, 1], [5, 5]]}\nsink:"
    mechanism = configure(read(tmp_path, SHORT.replace("sink:", places))).mechanism
    assert isinstance(mechanism, ColdStart)
    assert isinstance(mechanism.distance, Points)
    usual = configure(read(tmp_path, SHORT)).mechanism
    assert mechanism.law_digest() != usual.law_digest()


def test_fewer_positions_have_to_be_asked_for_twice(tmp_path: Path) -> None:
    mechanism = configure(read(tmp_path, SHORT)).mechanism
    assert isinstance(mechanism, ColdStart)
    assert mechanism.positions == 20
    with pytest.raises(ConfigurationError, match=r"positions: 20 releases .* 25585 are enough"):
        configure(read(tmp_path, SHORT.replace("  when_short: accept\n", "")))


def test_there_is_no_confidence_before_there_is_a_model(tmp_path: Path) -> None:
    configured = configure(read(tmp_path, SHORT))
    mechanism, state = configured.mechanism, configured.mechanism.start(1)
    scope = DrawScope(Secret(bytes(32)), "tests", "op", 1, mechanism.law_digest())
    written = []
    for step in range(22):
        draws = scope.draws([b"key"], record_positions("topic", 0, [step]))
        state, releases = mechanism.step(state, Inputs(np.array([1])), draws)
        written += [orjson.loads(value) for value in configured.codec.encode(releases)]
    assert [record["confidence"] is None for record in written] == [True] * 20 + [False] * 2


@pytest.mark.parametrize(
    ("added", "line", "says"),
    [
        ("positions: 0", 9, "operator.positions: "),
        ("alpha: 0", 9, "more than 0"),
        ("when_short: maybe", 9, "operator.when_short: "),
        ("model: model.json", 9, "operator.model: unknown key"),
    ],
)
def test_an_error_names_the_line_and_what_to_write(
    added: str, line: int, says: str, tmp_path: Path
) -> None:
    error = read_error(tmp_path, COLD.replace("sink:", f"  {added}\nsink:"))
    assert error.startswith(f"pipeline.yaml:{line}: ")
    assert says in error


def test_an_alphabet_that_is_too_large_is_refused_with_the_reason(tmp_path: Path) -> None:
    letters = ", ".join("abcdefghijklmnopq")
    with pytest.raises(ConfigurationError, match="must be 2 to 16, not 17: every stream keeps"):
        configure(read(tmp_path, COLD.replace("rest, light, vigorous", letters)))


def test_an_explanation_states_both_parts_of_the_promise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    explain([read(tmp_path, SHORT)], as_json=False)
    said = " ".join(capsys.readouterr().out.split())
    assert "learned from the first 20 releases of the stream itself and frozen" in said
    assert "an adversary with another belief, or who knows part of a stream from elsewhere" in said
    assert "each of the first 20 releases of a stream is 1-private under every prior" in said
