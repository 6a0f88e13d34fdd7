"""Read where each symbol of an alphabet lies, from the file of `distance: {points: FILE}`.

{"format": "fugu-points", "format_version": 1, "alphabet": ["harbour", "market", "park"],
 "points": [[0.0, 0.0], [0.4, 1.1], [2.5, 0.3]]}
"""

from pathlib import Path
from typing import Literal

import numpy as np
import orjson
from pydantic import ValidationError

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.base.problems import in_words
from fugu.dataflows.base.section import Section
from fugu.operators.sip.distances import Points


class PointsFile(Section):
    """Hold the content of a points file, not yet checked as points."""

    format: Literal["fugu-points"]
    format_version: Literal[1]
    description: str = ""
    alphabet: list[str] | list[int]
    points: list[list[float]]


def read_points(path: Path, alphabet: list[str] | list[int]) -> Points:
    """Return the points in `path`, which must have the pipeline's alphabet, in its order."""
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
