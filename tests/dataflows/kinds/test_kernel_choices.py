"""Choose mode, distance and kernel in a pipeline file, and read the answers."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.distances import HAMMING, Ordered, Points
from tests.dataflows.pipeline.pipeline_files import configured, read, read_error, with_change

POINTS = [[0, 0], [0.5, 1], [2, 2]]


def chosen(choices: str) -> str:
    """The pipeline with lines after `epsilon`, which is line 8."""
    return with_change("epsilon: 1.0", f"epsilon: 1.0\n  {choices}")


def mechanism(directory: Path, choices: str) -> ConditionalRandomizedResponse:
    configuration = configured(directory, text=chosen(choices)).mechanism
    assert isinstance(configuration, ConditionalRandomizedResponse)
    return configuration


def test_without_a_choice_the_law_is_the_same_as_with_the_defaults(tmp_path: Path) -> None:
    usual = mechanism(tmp_path, "other: light")
    assert (usual.distance, usual.mode, usual.kernel) == (HAMMING, "optimal", "heuristic")
    said = mechanism(tmp_path, "mode: optimal\n  distance: hamming\n  kernel: heuristic")
    assert said.law_digest() == usual.law_digest()


def test_every_choice_reaches_the_mechanism_and_has_a_law_of_its_own(tmp_path: Path) -> None:
    full = mechanism(tmp_path, "mode: full_support")
    ordered = mechanism(tmp_path, "distance: ordered")
    best = mechanism(tmp_path, "distance: ordered\n  kernel: linear_program")
    assert full.mode == "full_support"
    assert ordered.distance == best.distance == Ordered()
    assert best.kernel == "linear_program"
    laws = {m.law_digest() for m in (full, ordered, best, mechanism(tmp_path, "mode: optimal"))}
    assert len(laws) == 4


def points_file(directory: Path, **changes: Any) -> None:
    content = {
        "format": "fugu-points",
        "format_version": 1,
        "alphabet": ["rest", "light", "vigorous"],
        "points": POINTS,
    }
    (directory / "zones.json").write_bytes(orjson.dumps(content | changes))


def test_points_are_the_same_in_the_file_and_in_a_file_of_their_own(tmp_path: Path) -> None:
    points_file(tmp_path)
    inline = mechanism(tmp_path, f"distance: {{points: {POINTS}}}")
    apart = mechanism(tmp_path, "distance: {points: zones.json}")
    assert isinstance(inline.distance, Points)
    assert inline.distance.coordinates.tolist() == POINTS
    assert apart.law_digest() == inline.law_digest()


@pytest.mark.parametrize(
    ("choices", "line", "says"),
    [
        ("mode: best", 9, "operator.mode: input should be 'optimal' or 'full_support'"),
        ("kernel: lp", 9, "operator.kernel: input should be 'heuristic' or 'linear_program'"),
        ("distance: euclid", 9, "operator.distance: write hamming, ordered, {points: FILE}, or"),
        ("distance: {points: 3}", 9, "operator.distance: write hamming, ordered"),
        ("distance: {points: [[0], [yes], [1]]}", 9, "operator.distance: write hamming"),
        ("distance: {places: a.json}", 9, "operator.distance: write hamming, ordered"),
        ("distance: {points: [[0], [1]]}", 9, "has 2 points, but the alphabet has 3 symbols"),
        (
            "distance: {points: [[0], [1, 2], [3]]}",
            9,
            "point 2 must have at least one coordinate, and as many",
        ),
        ("distance: {points: [[0], [.inf], [3]]}", 9, "point 2: every coordinate must be"),
        ("mode: full_support\n  kernel: linear_program", 10, "operator.kernel: has no effect with"),
        ("mode: full_support\n  distance: ordered", 10, "operator.distance: has no effect with"),
    ],
)
def test_an_error_names_the_line_and_what_to_write(
    choices: str, line: int, says: str, tmp_path: Path
) -> None:
    error = read_error(tmp_path, chosen(choices))
    assert error.startswith(f"pipeline.yaml:{line}: ")
    assert says in error
    assert "\n" not in error


def test_the_linear_program_is_for_small_alphabets(tmp_path: Path) -> None:
    text = chosen("kernel: linear_program").replace("[rest, light, vigorous]", str(list(range(33))))
    error = read_error(tmp_path, text)
    assert error.startswith("pipeline.yaml:9: operator.kernel: linear_program takes at most 32")
    assert "the alphabet has 33; write heuristic" in error


def test_the_papers_baseline_has_nothing_to_choose(tmp_path: Path) -> None:
    text = chosen("mode: full_support\n  accept_unsound: true")
    error = read_error(tmp_path, text.replace("kind: crr", "kind: paper_crr"))
    assert error.startswith("pipeline.yaml:9: operator.mode: unknown key")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"alphabet": ["light", "rest", "vigorous"]}, "is about another alphabet"),
        ({"points": POINTS[:2]}, "has 2 points, but the alphabet has 3 symbols"),
        ({"points": [[], [], []]}, "point 1 must have at least one coordinate"),
        ({"points": "near"}, "points: input should be a valid list"),
        ({"format": "fugu-model"}, "format: input should be 'fugu-points'"),
        ({"origin": [0, 0]}, "origin: extra inputs are not permitted"),
    ],
)
def test_a_mistake_in_a_points_file_is_named(
    changes: dict[str, Any], says: str, tmp_path: Path
) -> None:
    points_file(tmp_path, **changes)
    with pytest.raises(ConfigurationError, match=rf"operator\.distance: .*zones\.json: {says}"):
        mechanism(tmp_path, "distance: {points: zones.json}")


def test_a_points_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"zones\.json: cannot be read"):
        mechanism(tmp_path, "distance: {points: zones.json}")
    (tmp_path / "zones.json").write_text("{\n'a'")
    with pytest.raises(ConfigurationError, match=r"zones\.json: line 2 is not valid JSON"):
        mechanism(tmp_path, "distance: {points: zones.json}")


def test_what_was_chosen_is_explained(tmp_path: Path) -> None:
    operator = read(tmp_path, chosen(f"distance: {{points: {POINTS}}}")).pipeline.operator
    parameters = operator.parameters()
    assert parameters["distance"] == "Euclidean, between the listed points"
    assert (parameters["mode"], parameters["kernel"]) == ("optimal", "heuristic")
