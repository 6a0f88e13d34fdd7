"""Virtual values: one for all rows of a user."""

from fugu.operators.anonymity.records import Record, Table
from fugu.operators.anonymity.virtualisation import virtual_values
from tests.operators.anonymity.thesis import TAXONOMY


def virtual(*rows: tuple[int, str], height: int = 2) -> list[str]:
    table = Table.of(Record(user, (), TAXONOMY.index(value)) for user, value in rows)
    return [TAXONOMY.names[value] for value in virtual_values(table, TAXONOMY, height)]


def test_rows_of_a_user_need_not_be_neighbours() -> None:
    rows = (7, "Dengue"), (3, "Typhoid"), (7, "Lung infection")
    assert virtual(*rows) == ["Lung infection", "Bacterial infection", "Lung infection"]


def test_the_largest_level_that_is_low_enough_wins() -> None:
    rows = (1, "Lung infection"), (1, "Dengue"), (1, "Virus infection")
    assert virtual(*rows, height=3) == ["Dengue"] * 3


def test_the_first_row_wins_ties() -> None:
    assert virtual((1, "High blood sugar"), (1, "Lung infection")) == ["High blood sugar"] * 2


def test_without_a_candidate_the_first_value_is_generalised() -> None:
    assert virtual((1, "Typhoid"), (1, "Dengue")) == ["Bacterial infection"] * 2


def test_nothing_has_no_virtual_value() -> None:
    assert virtual() == []
