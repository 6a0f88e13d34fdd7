"""Objects written column by column are those that orjson writes one by one."""

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.dataflows.records.contributions import Figures
from fugu.dataflows.records.json_columns import Field, json_column, written_objects
from fugu.operators import compiled

GROUPS = [*(f"zone {number}" for number in range(300)), 'a "comma, or two"', "é,", "\n"]
STATUS = ("sampled", "nothing, at all")

values = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text()
nested = values | st.lists(st.integers(0, 9), max_size=3)


@pytest.fixture(params=["compiled", "plain"], autouse=True)
def with_and_without_compiled_code(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if request.param == "plain":
        monkeypatch.setattr(compiled, "available", lambda: False)


@given(st.lists(nested, max_size=100))
def test_a_column_has_each_value_as_json(column: list[object]) -> None:
    assert list(json_column(column)) == list(map(orjson.dumps, column))


@given(st.lists(st.tuples(values, values), max_size=5), st.sampled_from([1, 3, 40]))
def test_objects_have_their_fields_in_order(rows: list[tuple[object, object]], copies: int) -> None:
    rows = rows * copies
    first, second = (json_column([row[place] for row in rows]) for place in range(2))
    fields: dict[str, Field] = {"start": b"7", "é, %d": first, "known": b"true", "b": second}
    assert list(written_objects(len(rows), fields)) == [
        orjson.dumps({"start": 7, "é, %d": one, "known": True, "b": other}) for one, other in rows
    ]


@pytest.mark.parametrize("groups", [GROUPS, range(-150, 150), None])
@pytest.mark.parametrize("units_per_one", [1, 7])
@pytest.mark.parametrize("whole", [True, False])
def test_figures_of_many_groups_are_written_as_each_by_itself(
    groups: list[str] | range | None, units_per_one: int, whole: bool
) -> None:
    names = [None] if groups is None else list(groups)
    random = np.random.default_rng(1)
    numbers = random.normal(0, 10.0 ** random.integers(-9, 15, len(names)))
    if not whole:
        numbers[0] = np.nan
    truth = np.round(numbers).astype(np.int64) if whole else numbers
    fates = random.integers(0, 2, len(names)).tolist()
    words = {"fate": ("status", STATUS)}
    figures = Figures(groups, units_per_one=units_per_one, words=words)
    notes = {"fate": fates, "epsilon": 0.1, "late": random.random(len(names)).tolist()}
    ones = truth if units_per_one == 1 else truth / units_per_one
    rounded = ones.tolist() if ones.dtype == np.int64 else np.round(ones, 6).tolist()
    assert list(figures.write(3, truth, notes)) == [
        orjson.dumps(
            {
                "start": 3,
                **({} if name is None else {"group": name}),
                "value": value,
                "status": STATUS[fate],
                "late": late,
                "epsilon": 0.1,
            }
        )
        for name, value, fate, late in zip(names, rounded, fates, notes["late"], strict=True)
    ]
