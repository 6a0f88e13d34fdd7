"""How far apart two symbols are: `operator.distance`."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, ValidationInfo

from fugu.dataflows.base.section import Section
from fugu.dataflows.files.points_file import problem_with


class PlacedSymbols(Section):
    """Where each symbol lies: a points file, or one list of coordinates for each symbol."""

    points: str | list[list[float]]


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


Placed = Annotated[Literal["hamming", "ordered"] | PlacedSymbols, BeforeValidator(_distance)]
"""How far apart two symbols are."""


def fitting(distance: str | PlacedSymbols, before: ValidationInfo) -> str | PlacedSymbols:
    if isinstance(distance, PlacedSymbols) and isinstance(distance.points, list):
        symbols = before.data.get("alphabet", distance.points)
        problem = problem_with(distance.points, len(symbols))
        if problem is not None:
            raise ValueError(problem)
    return distance


def in_words(distance: str | PlacedSymbols) -> str:
    match distance:
        case PlacedSymbols(points=str(file)):
            return f"Euclidean, between the points of {file}"
        case PlacedSymbols():
            return "Euclidean, between the listed points"
        case name:
            return name
