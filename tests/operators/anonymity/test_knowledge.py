"""The table of a window."""

import numpy as np
import pytest

from fugu.operators.anonymity.knowledge import Record, Table

TABLE = Table.of([Record(4, (1, 5, 9), 2), Record(0, (), 3), Record(4, (5,), 2)])


def test_rows_are_columns_with_offsets() -> None:
    assert TABLE.offsets.tolist() == [0, 3, 3, 4]
    assert TABLE.rows_of_points.tolist() == [0, 0, 0, 2]
    assert TABLE.people == 2


def test_points_can_be_left_out() -> None:
    left = TABLE.with_points(np.array([False, True, True, False]))
    assert [left.trajectory(row).tolist() for row in range(3)] == [[5, 9], [], []]
    assert left.users.tolist() == [4, 0, 4]


def test_rows_can_be_chosen_in_any_order() -> None:
    chosen = TABLE.with_rows(np.array([2, 0]))
    assert [chosen.trajectory(row).tolist() for row in range(2)] == [[5], [1, 5, 9]]
    assert chosen.values.tolist() == [2, 2]


def test_an_empty_table_is_a_table() -> None:
    assert len(Table.of([])) == 0
    assert Table.of([]).people == 0


@pytest.mark.parametrize("points", [(5, 3), (3, 3)])
def test_a_trajectory_out_of_order_or_with_a_point_twice_is_refused(
    points: tuple[int, ...],
) -> None:
    with pytest.raises(ValueError, match="row 1 is not in the order of time, or has a point twice"):
        Table.of([Record(0, (1, 2), 0), Record(1, points, 0)])


def test_rows_may_begin_before_the_end_of_others() -> None:
    assert len(Table.of([Record(0, (7,), 0), Record(1, (2,), 0), Record(1, (2, 3), 0)])) == 3


@pytest.mark.parametrize(
    ("column", "change", "message"),
    [
        ("users", [0, -1], "users has a negative number"),
        ("values", [0], "a value and a trajectory for each row"),
        ("offsets", [0, 3, 2], "offsets decrease"),
        ("offsets", [0, 1, 1], "do not begin at 0 and end with the points"),
        ("points", [-1, 3], "points has a negative number"),
    ],
)
def test_columns_that_do_not_fit_are_refused(column: str, change: list[int], message: str) -> None:
    columns = {"users": [0, 1], "offsets": [0, 1, 2], "points": [4, 3], "values": [0, 0]}
    given = {name: np.array(numbers) for name, numbers in (columns | {column: change}).items()}
    with pytest.raises(ValueError, match=message):
        Table(given["users"], given["offsets"], given["points"], given["values"])
