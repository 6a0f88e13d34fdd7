"""Say how far apart two symbols are: `operator.distance`."""

from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator, ValidationInfo

from fugu.dataflows.base.section import Section
from fugu.dataflows.files.alphabet_file import problem_with, read_points
from fugu.dataflows.kinds.families.section import Files
from fugu.operators.sip.distances import HAMMING, Distance, Ordered, Points


class PlacedSymbols(Section):
    """Say where each symbol lies: in a points file, or with a list of coordinates for each."""

    points: str | list[list[float]]
    """A points file, or a list of coordinates for each symbol."""


def _distance(distance: object) -> object:
    points = distance.get("points") if isinstance(distance, dict) else None
    inline = isinstance(points, list) and all(
        isinstance(point, list) and all(type(number) in (int, float) for number in point)
        for point in points
    )
    placed = isinstance(distance, dict) and len(distance) == 1 and (inline or type(points) is str)
    if distance not in ("hamming", "ordered") and not placed:
        raise ValueError(
            "write hamming, ordered, {points: FILE}, or {points: [[0, 0], [0, 1]]} with a list "
            "of coordinates for each symbol"
        )
    return distance


def _fitting(distance: str | PlacedSymbols, before: ValidationInfo) -> str | PlacedSymbols:
    if isinstance(distance, PlacedSymbols) and isinstance(distance.points, list):
        symbols = before.data.get("alphabet", distance.points)
        problem = problem_with(distance.points, len(symbols))
        if problem is not None:
            raise ValueError(problem)
    return distance


Placed = Annotated[
    Literal["hamming", "ordered"] | PlacedSymbols,
    BeforeValidator(_distance),
    AfterValidator(_fitting),
]
"""Name how far apart two symbols of the alphabet are."""


def _nearest(distance: object) -> object:
    if distance == "hamming":
        raise ValueError(
            "hamming has no nearest symbol, which stands in for one outside the set; write "
            "ordered, {points: FILE}, or {points: [[0, 0], [0, 1]]}"
        )
    return _distance(distance)


Nearest = Annotated[
    Literal["ordered"] | PlacedSymbols, BeforeValidator(_nearest), AfterValidator(_fitting)
]
"""Name a distance by which one symbol is nearer than another."""


def _good_enough(distance: object) -> object:
    if distance in ("symbol", "steps"):
        return distance
    if distance in ("hamming", "ordered"):
        usual = {"hamming": "symbol", "ordered": "steps"}[str(distance)]
        raise ValueError(f"is called {usual} here")
    try:
        return _distance(distance)
    except ValueError:
        raise ValueError(
            "write symbol, steps, {points: FILE}, or {points: [[0, 0], [0, 1]]} with a list of "
            "coordinates for each symbol"
        ) from None


GoodEnough = Annotated[
    Literal["symbol", "steps"] | PlacedSymbols,
    BeforeValidator(_good_enough),
    AfterValidator(_fitting),
]
"""Name the distance by which a release may still be good enough."""


def distance_between(
    alphabet: list[str] | list[int], distance: str | PlacedSymbols, files: Files
) -> Distance:
    """Return the same for a mechanism, points files read."""
    match distance:
        case PlacedSymbols(points=str(path)):
            return read_points(files.resolve(path), alphabet)
        case PlacedSymbols(points=points):
            return Points(np.array(points))
        case "ordered":
            return Ordered()
        case _:
            return HAMMING


def in_words(distance: str | PlacedSymbols) -> str:
    """Say the same to people."""
    match distance:
        case PlacedSymbols(points=str(file)):
            return f"Euclidean, between the points of {file}"
        case PlacedSymbols():
            return "Euclidean, between the listed points"
        case name:
            return name
