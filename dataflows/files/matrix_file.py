"""Read a transition matrix: a JSON list of rows, a `.npy` array, or a model file.

    [[0.9, 0.1], [0.4, 0.6]]

Row i says what follows value i. Errors name the file, the row and the column.
"""

from pathlib import Path

import numpy as np

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.files.model_file import ModelFile, read_json, read_model_file
from fugu.operators.leakage.matrices import transition_matrix
from fugu.operators.mechanism import Array, Floats
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.second_order_model import SecondOrderModel

MOST_VALUES = 400
"""The work grows with the third power: so many values take about half a minute."""


def read_matrix(path: Path) -> Floats:
    """Return the matrix in `path`; `ConfigurationError` says what to write instead."""
    if path.suffix == ".npy":
        return _checked(path, _array(path))
    content = read_json(path)
    if isinstance(content, dict):
        return _of_model(path, read_model_file(path))
    return _checked(path, content)


def _checked(path: Path, content: object) -> Floats:
    rows = content.tolist() if isinstance(content, np.ndarray) else content
    if not isinstance(rows, list):
        raise ConfigurationError(f"{path}: write a list of rows, such as [[0.9, 0.1], [0.4, 0.6]]")
    _limit(path, len(rows))
    for number, row in enumerate(rows):
        if not isinstance(row, list):
            raise ConfigurationError(f"{path}: matrix row {number}: write a list of numbers")
        for column, entry in enumerate(row):
            if isinstance(entry, bool) or not isinstance(entry, int | float):
                raise ConfigurationError(
                    f"{path}: matrix row {number}, column {column}: write a number"
                )
    try:
        return transition_matrix(rows)
    except ValueError as error:
        raise ConfigurationError(f"{path}: {error}") from None


def _array(path: Path) -> Array:
    try:
        array: Array = np.load(path, allow_pickle=False)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read ({error.strerror})") from None
    except (ValueError, EOFError):
        raise ConfigurationError(f"{path}: is not a .npy file; write it with numpy.save") from None
    if not isinstance(array, np.ndarray) or array.ndim != 2:
        raise ConfigurationError(f"{path}: write one square matrix, an array of two dimensions")
    return array


def _of_model(path: Path, content: ModelFile) -> Floats:
    _limit(path, len(content.alphabet))
    try:
        model = content.model()
    except ValueError as error:
        raise ConfigurationError(f"{path}: {error}") from None
    if isinstance(model, SecondOrderModel):
        raise ConfigurationError(
            f"{path}: has rows for pairs of symbols, and leakage needs a matrix; learn it with "
            "fugu model learn --order 1"
        )
    return model.transition if isinstance(model, MarkovModel) else model.rows.dense()


def _limit(path: Path, values: int) -> None:
    if values > MOST_VALUES:
        raise ConfigurationError(
            f"{path}: {values} values are too many, {MOST_VALUES} are the most; "
            "join values into groups first"
        )
