"""Delta-location sets against their definition, cell by cell."""

import numpy as np
import pytest

from fugu.operators.mechanism import Floats
from fugu.operators.sip.distances import Ordered, Points
from fugu.operators.sip.location_sets import LocationSets, by_distance


def defined(belief: list[float], mass: float) -> list[int]:
    """Take the most likely cells, ties by index, until they hold so much."""
    ranked = sorted(range(len(belief)), key=lambda cell: (-belief[cell], cell))
    held = 0.0
    for number, cell in enumerate(ranked, start=1):
        held += belief[cell]
        if held >= mass:
            return ranked[:number]
    return ranked


def beliefs(rng: np.random.Generator, cells: int, rows: int) -> Floats:
    """Some of them with ties."""
    some = rng.dirichlet(np.full(cells, 0.5), rows // 2).T
    coarse = rng.integers(1, 4, size=(cells, rows - rows // 2)).astype(np.float64)
    return np.ascontiguousarray(np.hstack([some, coarse / coarse.sum(axis=0)]))


@pytest.mark.parametrize("mass", [1e-9, 0.5, 0.9, 1.0 - 1e-12])
@pytest.mark.parametrize("cells", [2, 5, 9])
def test_a_set_is_the_smallest_of_likely_cells_that_holds_the_mass(cells: int, mass: float) -> None:
    belief = beliefs(np.random.default_rng(cells), cells, rows=200)
    sets = LocationSets.of(belief, mass)
    for row, column in enumerate(belief.T.tolist()):
        members = sets.ranked[: sets.sizes[row], row].tolist()
        assert members == defined(column, mass)
        assert np.flatnonzero(sets.members[:, row]).tolist() == sorted(members)


def test_all_cells_are_members_where_rounding_leaves_less_than_the_mass() -> None:
    belief = np.full((3, 1), 1.0 / 3.0 - 1e-9)
    assert LocationSets.of(belief, 1.0 - 1e-12).sizes.tolist() == [3]


def test_a_member_stands_for_itself_and_any_other_cell_has_the_nearest_member() -> None:
    rng = np.random.default_rng(3)
    points = Points(rng.integers(0, 3, size=(9, 2)).astype(np.float64))
    table = points.table(9)
    sets = LocationSets.of(beliefs(rng, 9, rows=100), 0.6)
    cells, rows = (axis.ravel() for axis in np.indices((9, 100)))
    for cell, row, found in zip(
        cells, rows, sets.stand_ins(by_distance(table), cells, rows), strict=True
    ):
        members = sorted(sets.ranked[: sets.sizes[row], row].tolist())
        expected = cell if cell in members else min(members, key=lambda one: table[cell, one])
        assert found == expected


def test_two_cells_in_one_place_are_two_cells() -> None:
    assert by_distance(Points(np.zeros((3, 1))).table(3)).tolist() == [
        [0, 1, 2],
        [1, 0, 2],
        [2, 0, 1],
    ]
    assert by_distance(Ordered().table(3))[1].tolist() == [1, 0, 2]
