"""Read what records contribute, and write figures."""

import numpy as np
import orjson
import pytest

from fugu.dataflows.base.batches import Batch, Decoded
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.contributions import Figures, SetContributions
from fugu.dataflows.records.json_fields import FieldTimestamp
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.stages.summing import Summing
from fugu.dataflows.state.row_table import RowTable
from tests.dataflows.stages.aggregates.exact import SECONDS

ROOMS = [f"room {number}" for number in range(63)]


WORDS = {"fate": ("status", ("sampled", "nothing"))}


def decoded(records: list[tuple[str, int, object]]) -> Decoded:
    codec = Codec(SetContributions(Alphabet("rooms", ROOMS)), 10_000, FieldTimestamp("at", 1))
    values: list[bytes | None] = [orjson.dumps({"at": at, "rooms": on}) for _, at, on in records]
    offsets, keys = list(range(len(records))), [who.encode() for who, *_ in records]
    return codec.decode(Batch(0, offsets, offsets, [*keys], values, [[] for _ in records]))


def test_a_set_counts_once_in_each_of_its_groups_and_the_latest_one_counts() -> None:
    bounding = Summing(SECONDS, len(ROOMS), Admission("unchecked", 1, 10), sets=True)
    table = RowTable(bounding.start)
    bounded = bounding(
        decoded(
            [
                ("ann", 5_000, ["room 0", "room 62", "room 62"]),
                ("ben", 5_100, ["room 0"]),
                ("ann", 5_900, ["room 62", "room 7"]),
                ("cat", 5_300, []),
                ("ann", 9_000, []),
            ]
        ),
        table,
    )
    fifth = next(one for one in bounded.partials if one.tick == 5)
    assert dict(zip(fifth.groups.tolist(), fifth.sums.tolist(), strict=True)) == {0: 1, 7: 1, 62: 1}


@pytest.mark.parametrize(
    ("rooms", "reason"),
    [
        ("room 0", "wrong_type"),
        ([3], "wrong_type"),
        (["attic"], "outside_domain"),
        ({"room 0": True}, "wrong_type"),
    ],
)
def test_what_is_no_list_of_groups_is_refused(rooms: object, reason: str) -> None:
    dead = decoded([("ann", 5_000, rooms)]).dead
    assert (dead.reasons, dead.fields) == ([reason], ["rooms"])


def test_notes_may_be_one_for_all_groups_or_one_for_each() -> None:
    figures = Figures(["a", "b"], units_per_one=100, words=WORDS)
    notes = {"standard_error": [250.0, 50.0], "fate": 0, "sensitivity": 320}
    assert [orjson.loads(one) for one in figures.write(7, np.array([150, 75]), notes)] == [
        {
            "start": 7,
            "group": group,
            "value": value,
            "standard_error": error,
            "status": "sampled",
            "sensitivity": 3.2,
        }
        for group, value, error in (("a", 1.5, 2.5), ("b", 0.75, 0.5))
    ]


def test_where_nothing_is_published_the_value_is_null() -> None:
    figures = Figures(None, units_per_one=1, words=WORDS)
    [written] = figures.write(7, None, {"fate": 1, "standard_error": float("nan")})
    assert written == b'{"start":7,"value":null,"status":"nothing","standard_error":null}'
