"""A model file is checked completely before anything is read, and errors name the row."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.operators.sip.second_order_model import SecondOrderModel
from fugu.operators.sip.sparse_models import SparseMarkovModel
from tests.dataflows.files.sparse_models import AFTER_TWO, LIGHT, REST, SPARSE, VIGOROUS
from tests.dataflows.pipeline.pipeline_files import MODEL, configured, with_change

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
        ({"smoothing": 0.6}, "smoothing: must be at most 0.5"),
        ({"smoothing": True}, "smoothing: input should be a valid number"),
        ({"format": "onnx"}, "format: input should be 'fugu-markov-model'"),
        ({"format_version": 1}, "format_version: input should be 2"),
        ({"learned": {"source": "s", "date": "d"}}, "learned.alphabet: field required"),
        ({"prior": "uniform", "alphabet": ["rest", "rest"]}, "every symbol may be listed once"),
        ({"alphabet": ["light", "rest", "vigorous"]}, "another alphabet .* same order"),
        ({"alphabet": ["rest", "light"]}, "another alphabet"),
        ({"notes": "x"}, "notes: unknown key; delete it"),
    ],
)
def test_a_mistake_in_the_model_is_named(change: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=f"operator.model: .*model.json.*{says}"):
        configured(tmp_path, MODEL | change)


@pytest.mark.parametrize(
    ("number", "row", "says"),
    [
        (0, REST | {"uniform": 0.2}, 'row 0 .from "rest".: probabilities must sum to 1, .* 1.15'),
        (0, REST | {"uniform": -0.2}, 'row 0 .from "rest".: uniform must be at least 0'),
        (0, REST | {"uniform": "1"}, "row 0, uniform: write {"),
        (0, REST | {"to": {"rest": -0.1, "light": 1.0}}, r"must not be negative \(column rest\)"),
        (0, REST | {"to": {"rest": 0.5, "heavy": 0.45}}, "row 0 .*, column heavy: is not in the"),
        (1, LIGHT | {"to": {"light": "1"}}, 'row 1, column "light": write a number'),
        (1, LIGHT | {"to": {"light": True}}, 'row 1, column "light": write a number'),
        (1, LIGHT | {"to": [1.0]}, "row 1, to: write {"),
        (1, LIGHT | {"from": "rest"}, 'row 1 .from "rest".: is there twice'),
        (1, LIGHT | {"from": "heavy"}, 'row 1 .from "heavy".: "heavy" is not in the alphabet'),
        (1, LIGHT | {"weight": 1}, "row 1, weight: write {"),
        (1, [0.1, 0.8, 0.1], "row 1: write {"),
        (3, AFTER_TWO | {"from": ["rest", 3]}, r'row 3 .from \["rest", 3\].: 3 is not in the alph'),
        (3, AFTER_TWO | {"from": ["rest"] * 3}, "row 3 .*: write one symbol or two"),
        (2, AFTER_TWO, 'row 3 .from .*"rest", "light".*: is there twice'),
        (2, AFTER_TWO | {"from": ["rest", "rest"]}, "nothing is said about what follows vigorous"),
    ],
)
def test_a_mistake_in_a_sparse_row_is_named_with_its_column(
    number: int, row: Any, says: str, tmp_path: Path
) -> None:
    rows = [REST, LIGHT, VIGOROUS, AFTER_TWO]
    rows[number] = row
    with pytest.raises(ConfigurationError, match=f"operator.model: .*model.json: .*{says}"):
        configured(tmp_path, SPARSE | {"transition": rows})


def test_a_sparse_row_with_a_zero_needs_smoothing(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"row 1 .from \"light\".: has a zero .column vigor"
    ):
        configured(tmp_path, SPARSE | {"smoothing": 0.0})


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


def test_sparse_rows_are_a_chain_of_first_or_of_second_order(tmp_path: Path) -> None:
    second = model_of(tmp_path, SPARSE)
    assert isinstance(second, SecondOrderModel)
    assert second.pairs.tolist() == [[0, 1]]
    first = model_of(tmp_path, SPARSE | {"transition": [VIGOROUS, REST, LIGHT]})
    assert isinstance(first, SparseMarkovModel)
    expected = [[0.8, 0.15, 0.0], [0.25, 0.75, 0.0], [0.0, 0.0, 0.0]]
    spread = np.array([[0.05], [0.0], [1.0]]) / 3
    wanted = 0.999 * (np.array(expected) + spread) + 0.001 / 3
    np.testing.assert_allclose(first.rows.dense(), wanted, atol=1e-15)


def test_integers_are_quoted_where_json_wants_it(tmp_path: Path) -> None:
    rows = [
        {"from": 10, "to": {"10": 0.5, "2": 0.5}},
        {"from": 2, "to": {"10": 1.0}},
        {"from": [10, 2], "to": {"2": 1.0}},
    ]
    content = {**SPARSE, "alphabet": [10, 2], "prior": "uniform", "transition": rows}
    text = with_change("[rest, light, vigorous]", "[10, 2]")
    mechanism: Any = configured(tmp_path, content, text).mechanism
    assert mechanism.model.pairs.tolist() == [[0, 1]]
    np.testing.assert_allclose(mechanism.model.rows.dense()[1], [0.9995, 0.0005])


def test_the_order_of_rows_and_of_entries_is_no_part_of_the_law(tmp_path: Path) -> None:
    turned = [{**row, "to": dict(reversed(row["to"].items()))} for row in SPARSE["transition"]]
    one = configured(tmp_path, SPARSE).mechanism.law_digest()
    other = configured(tmp_path, SPARSE | {"transition": turned[::-1]}).mechanism.law_digest()
    assert one == other


def test_any_number_that_changes_changes_the_law(tmp_path: Path) -> None:
    """A state goes on with the model it began with only: the digest is in its fingerprint."""
    changes: list[dict[str, Any]] = [
        {},
        {"smoothing": 0.002},
        {"prior": [0.5, 0.2, 0.3]},
        {"transition": [REST, LIGHT, VIGOROUS]},
        {"transition": [REST, LIGHT, VIGOROUS, AFTER_TWO | {"from": ["light", "light"]}]},
        {"transition": [REST | {"uniform": 0.0500001}, LIGHT, VIGOROUS, AFTER_TWO]},
    ]
    digests = {configured(tmp_path, SPARSE | one).mechanism.law_digest() for one in changes}
    assert len(digests) == len(changes)


def model_of(directory: Path, content: Any) -> Any:
    mechanism: Any = configured(directory, content).mechanism
    return mechanism.model
