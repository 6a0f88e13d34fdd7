"""A model file is checked completely before anything is read, and errors name the row."""

from pathlib import Path
from typing import Any

import pytest

from dataflows.errors import ConfigurationError
from tests.dataflows.pipeline_files import MODEL, configured, with_change

FIRST, SECOND, THIRD = MODEL["transition"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"transition": [FIRST, [0.2, 0.7, 0.2], THIRD]}, "transition row 1: .* sum to 1.1"),
        ({"transition": [FIRST, [1.2, 0, -0.2], THIRD]}, "transition row 1: .* negative"),
        ({"transition": [FIRST, [0.5, 0.5], THIRD]}, "transition row 1: has 2 entries"),
        ({"transition": [FIRST, [], THIRD]}, "transition row 1: needs at least one symbol"),
        ({"transition": [FIRST, [0.5, 0.5, "0"], THIRD]}, "transition row 1: write a list of num"),
        ({"transition": [FIRST, [0.5, 0.5, False], THIRD]}, "transition row 1: write a list of"),
        ({"transition": [FIRST, "uniform", THIRD]}, "transition row 1: write a list of numbers"),
        ({"transition": [FIRST, SECOND]}, r"transition: shape is \(2, 3\)"),
        ({"transition": []}, "transition: shape is"),
        ({"prior": [0.5, 0.6, 0.1]}, "prior: .* sum to 1.2"),
        ({"prior": [0.5, 0.5]}, "has 3 entries, but the prior has 2"),
        ({"prior": "unifrom"}, 'prior: write "uniform" or a list of numbers'),
        ({"smoothing": 0}, "transition row 2: has a zero .column 0.; set smoothing above 0"),
        ({"smoothing": 0.6}, "smoothing: .* less than or equal to 0.5"),
        ({"smoothing": True}, "smoothing: input should be a valid number"),
        ({"format": "onnx"}, "format: input should be 'fugu-markov-model'"),
        ({"format_version": 2}, "format_version: input should be 1"),
        ({"alphabet": ["light", "rest", "vigorous"]}, "another alphabet .* same order"),
        ({"alphabet": ["rest", "light"]}, "another alphabet"),
        ({"notes": "x"}, "notes: unknown key; delete it"),
    ],
)
def test_a_mistake_in_the_model_is_named(change: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=f"operator.model: .*model.json.*{says}"):
        configured(tmp_path, MODEL | change)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b'{"prior": NaN}', b"{'format': 1}"])
def test_a_model_that_is_not_json_is_refused_with_its_line(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"model.json:1: is not valid JSON"):
        configured(tmp_path, content)


def test_a_model_that_is_no_object_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="write a JSON object"):
        configured(tmp_path, [MODEL])


@pytest.mark.parametrize("path", ["missing.json", "."])
def test_a_model_that_cannot_be_read_is_named(path: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        configured(tmp_path, text=with_change("model.json", path))


def test_a_correct_model_is_smoothed(tmp_path: Path) -> None:
    model = configured(tmp_path).mechanism.model  # type: ignore[attr-defined]
    assert (model.transition > 0).all()
