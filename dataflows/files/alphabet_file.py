"""Read the files that an alphabet names: symbols, where they lie, how they follow each other."""

import re
from pathlib import Path
from typing import Literal

import numpy as np
import orjson
from pydantic import ValidationError

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.base.problems import in_words
from fugu.dataflows.base.section import INTEGERS, Section
from fugu.dataflows.files.model_file import ModelFile, read_json, read_model_file
from fugu.operators.leakage.leakage_function import transition_matrix
from fugu.operators.mechanism import Array, Floats
from fugu.operators.sip.distances import Points
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.second_order_model import SecondOrderModel

LARGEST_ALPHABET = 2**17
"""A promise beside the sink lists every symbol, and so does whatever is built for one."""
_LONGEST_INTEGER = 20
_WHOLE_NUMBER = re.compile(r"-?[1-9][0-9]*|0")


def read_alphabet(path: Path) -> object:
    """Return the symbols in order, not yet checked; `ValueError` says what is wrong.

    A text file holds one symbol on each line: a whole number is an integer, any other line is text,
    and so is a line in double quotes, as in JSON. Of a file that ends in .json, such as a model
    file, the list under its key `alphabet` is taken.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ValueError(f"cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8 text") from None
    if path.suffix == ".json":
        return _under_its_key(text)
    lines = text.removesuffix("\n").split("\n") if text else []
    require_not_too_many(len(lines))
    return [_symbol(number, line) for number, line in enumerate(lines, start=1)]


def require_not_too_many(symbols: int) -> None:
    """Raise `ValueError` for more symbols than an alphabet may have, before one is looked at."""
    if symbols > LARGEST_ALPHABET:
        raise ValueError(
            f"lists {symbols:,} symbols, more than {LARGEST_ALPHABET:,}; let one symbol stand for "
            "all rare ones (other)"
        )


def _under_its_key(text: str) -> object:
    try:
        content = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno} is not valid JSON") from None
    if not isinstance(content, dict) or "alphabet" not in content:
        raise ValueError('has no key "alphabet"; write a JSON object with one, or a text file')
    return content["alphabet"]


def _symbol(number: int, line: str) -> str | int:
    if not line:
        raise ValueError(f"line {number} is empty; delete it")
    if line != line.strip():
        raise ValueError(
            f"line {number} begins or ends with a blank; delete it, or put the symbol in double "
            "quotes"
        )
    if line.startswith('"'):
        try:
            return str(orjson.loads(line))
        except orjson.JSONDecodeError:
            raise ValueError(f"line {number} is not a JSON text; end it with a quote") from None
    if not _WHOLE_NUMBER.fullmatch(line):
        return line
    if len(line) > _LONGEST_INTEGER or int(line) not in INTEGERS:
        raise ValueError(
            f"line {number} is an integer that does not fit into 64 bits; put it in double quotes "
            "to make it text"
        )
    return int(line)


class PointsFile(Section):
    """Hold the content of a points file, not yet checked as points."""

    format: Literal["fugu-points"]
    format_version: Literal[1]
    description: str = ""
    alphabet: list[str] | list[int]
    points: list[list[float]]


def read_points(path: Path, alphabet: list[str] | list[int]) -> Points:
    """Return the points in `path`, which must have the pipeline's alphabet, in its order.

    {"format": "fugu-points", "format_version": 1, "alphabet": ["harbour", "market", "park"],
     "points": [[0.0, 0.0], [0.4, 1.1], [2.5, 0.3]]}
    """
    try:
        content = PointsFile.model_validate(orjson.loads(path.read_bytes()))
    except OSError as error:
        raise _unusable(path, f"cannot be read ({error.strerror})") from None
    except orjson.JSONDecodeError as error:
        raise _unusable(path, f"line {error.lineno} is not valid JSON") from None
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"]) or "the file"
        raise _unusable(path, f"{name}: {in_words(dict(first))}") from None
    if content.alphabet != alphabet:
        raise _unusable(
            path,
            "is about another alphabet than operator.alphabet; both must list the same symbols "
            "in the same order",
        )
    problem = problem_with(content.points, len(alphabet))
    if problem is not None:
        raise _unusable(path, problem)
    return Points(np.array(content.points))


def problem_with(points: list[list[float]], symbols: int) -> str | None:
    """Say what keeps a list of points from being those of an alphabet; None if nothing does."""
    if len(points) != symbols:
        return f"has {len(points)} points, but the alphabet has {symbols} symbols; write one each"
    axes = len(points[0])
    for number, point in enumerate(points, start=1):
        if not point or len(point) != axes:
            return f"point {number} must have at least one coordinate, and as many as point 1"
        if not all(abs(coordinate) <= 1e100 for coordinate in point):
            return f"point {number}: every coordinate must be a number of at most 1e100"
    return None


def _unusable(path: Path, problem: str) -> ConfigurationError:
    return ConfigurationError(f"operator.distance: {path}: {problem}")


MOST_VALUES = 400
"""The work grows with the third power: so many values take about half a minute."""


def read_matrix(path: Path) -> Floats:
    """Return the matrix in `path`; `ConfigurationError` says what to write instead.

        [[0.9, 0.1], [0.4, 0.6]]

    Row i says what follows value i. Errors name the file, the row and the column.
    """
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
