"""Files with matrices: what is read, and what is refused by file, row and column."""

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.files.matrix_file import MOST_VALUES, read_matrix
from tests.dataflows.files.sparse_models import SPARSE
from tests.dataflows.pipeline.pipeline_files import MODEL

ROWS = [[0.9, 0.1], [0.25, 0.75]]


def written(directory: Path, content: Any, name: str = "zones.json") -> Path:
    path = directory / name
    if name.endswith(".npy"):
        np.save(path, content)
    else:
        path.write_bytes(content if isinstance(content, bytes) else orjson.dumps(content))
    return path


def test_rows_are_read_from_json_and_from_numpy(tmp_path: Path) -> None:
    assert read_matrix(written(tmp_path, ROWS)).tolist() == ROWS
    assert read_matrix(written(tmp_path, [[1, 0], [0, 1]])).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert read_matrix(written(tmp_path, np.array(ROWS), "zones.npy")).tolist() == ROWS
    assert read_matrix(written(tmp_path, np.eye(3, dtype=int), "eye.npy")).tolist() == [
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
    ]


def test_a_model_file_is_read_after_its_smoothing(tmp_path: Path) -> None:
    rows = [[1.0, 0.0], ROWS[1]]
    binary = MODEL | {"alphabet": ["up", "down"], "prior": "uniform", "transition": rows}
    matrix = read_matrix(written(tmp_path, binary | {"smoothing": 0.1}))
    assert matrix == pytest.approx(np.array([[0.95, 0.05], [0.275, 0.725]]))


def test_sparse_rows_of_a_model_become_a_matrix(tmp_path: Path) -> None:
    single = SPARSE | {"transition": [row for row in SPARSE["transition"] if not _pair(row)]}
    matrix = read_matrix(written(tmp_path, single))
    assert matrix.shape == (3, 3)
    assert matrix.sum(axis=1) == pytest.approx([1.0, 1.0, 1.0])


def _pair(row: dict[str, Any]) -> bool:
    return isinstance(row["from"], list)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"[[0.9, 0.1],\n [0.5,", "zones.json:2: is not valid JSON"),
        (3, "zones.json: write a list of rows, such as [[0.9, 0.1], [0.4, 0.6]]"),
        ([0.5, 0.5], "zones.json: matrix row 0: write a list of numbers"),
        ([[0.5, 0.5], [0.5, "x"]], "zones.json: matrix row 1, column 1: write a number"),
        ([[0.5, 0.5], [True, 0.0]], "zones.json: matrix row 1, column 0: write a number"),
        ([[0.5, 0.5], [None, 1.0]], "zones.json: matrix row 1, column 0: write a number"),
        ([[0.5, 0.5], [1.1, -0.1]], "zones.json: matrix row 1, column 1: a probability must not"),
        (
            [[0.5, 0.5], [0.5, 0.4]],
            "zones.json: matrix row 1: must sum to 1 within 1e-09, not to 0.9",
        ),
        (
            [[0.5, 0.5]],
            "zones.json: matrix row 0: has 2 columns, but there are 1 rows; write a square",
        ),
        ([], "zones.json: matrix: needs at least one row"),
        ({"format": "other"}, "zones.json: format: "),
        (SPARSE, "zones.json: has rows for pairs of symbols, and leakage needs a matrix; learn it"),
        (
            [[1.0]] * (MOST_VALUES + 1),
            "zones.json: 401 values are too many, 400 are the most; join",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, content: Any, says: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_matrix(written(tmp_path, content))
    assert str(caught.value).removeprefix(f"{tmp_path}/").startswith(says)


@pytest.mark.parametrize(
    ("array", "says"),
    [
        (np.ones(3), "zones.npy: write one square matrix, an array of two dimensions"),
        (
            np.array([[0.5, np.nan], [0.5, 0.5]]),
            "zones.npy: matrix row 0, column 1: must be a finite",
        ),
        (np.array([["a", "b"], ["c", "d"]]), "zones.npy: matrix row 0, column 0: write a number"),
        (np.array([[None]]), "zones.npy: is not a .npy file; write it with numpy.save"),
    ],
)
def test_arrays_are_checked_alike(tmp_path: Path, array: Any, says: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_matrix(written(tmp_path, array, "zones.npy"))
    assert str(caught.value).removeprefix(f"{tmp_path}/").startswith(says)


@pytest.mark.parametrize("name", ["none.json", "none.npy"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"{name} cannot be read \(No such file"):
        read_matrix(tmp_path / name)


@pytest.mark.parametrize("content", [b"", b"[[1.0]]", b"\x93NUMPY\x01\x00v\x00{'descr'"])
def test_what_is_no_array_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "zones.npy"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"zones.npy: is not a .npy file"):
        read_matrix(path)
