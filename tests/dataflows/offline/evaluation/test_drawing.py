"""A sample holds whole streams of some users, in order, and of their fields only those needed."""

from dataclasses import replace

import orjson

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.offline.evaluation.drawing import DrawnUsers, written
from fugu.dataflows.records.envelopes import Debezium
from tests.dataflows.stages.columns import codec

USERS, EACH = 200, 5


def batch(partition: int, users: range) -> Batch:
    """Records of users in turn, of which every third is dated before the last one of its user."""
    rows = [(step, user) for step in range(EACH) for user in users]
    return Batch(
        partition,
        list(range(len(rows))),
        [1_000 * step - (3_000 if step == 2 else 0) + user for step, user in rows],
        [b"user-%d" % user for _, user in rows],
        [orjson.dumps({"zone": step, "canary": "secret"}) for step, _ in rows],
        [[] for _ in rows],
    )


def drawn(users: int, seed: int = 0, each: int = EACH) -> list[dict[str, object]]:
    found = DrawnUsers(users, each, seed)
    found.add(batch(0, range(0, USERS, 2)))
    found.add(batch(1, range(1, USERS, 2)))
    assert found.drawn == min(users, USERS)
    return [
        orjson.loads(line) for line in written(found.in_order(), ["zone"], "key", None, codec())
    ]


def test_a_user_is_drawn_with_all_records_in_their_order() -> None:
    streams: dict[object, list[object]] = {}
    for line in drawn(20):
        streams.setdefault(line["key"], []).append(line["zone"])
        assert line.keys() == {"key", "zone"}
    assert len(streams) == 20
    assert all(zones == list(range(EACH)) for zones in streams.values())


def test_who_is_drawn_depends_on_the_seed_and_not_on_what_else_is_there() -> None:
    keys = {str(line["key"]) for line in drawn(20)}
    assert keys == {str(line["key"]) for line in drawn(20)}
    assert keys != {str(line["key"]) for line in drawn(20, seed=1)}
    assert keys < {str(line["key"]) for line in drawn(40)}


def test_streams_are_cut_and_all_users_are_taken_where_there_are_few() -> None:
    assert len(drawn(1_000, each=2)) == 2 * USERS


def test_what_is_no_record_is_passed_over() -> None:
    found = DrawnUsers(10, 10, 0)
    found.add(
        Batch(
            0,
            [0, 1, 2, 3],
            [1] * 4,
            [None, b"a", b"b", b"\xff"],
            [b"{}", b"x", None, b"{}"],
            [[]] * 4,
        )
    )
    assert list(written(found.in_order(), ["zone"], "key", None, codec())) == []


def test_of_a_change_nothing_is_drawn_but_the_fields_that_are_read() -> None:
    change = {"op": "u", "before": {"zone": "canary"}, "after": {"zone": "rest", "note": "canary"}}
    values = [orjson.dumps({"schema": {}, "payload": change}), orjson.dumps(change | {"op": "d"})]
    rows = replace(codec(), envelope=Debezium())
    found = DrawnUsers(10, 10, 0)
    found.add(Batch(0, [0, 1], [1, 1], [b"a", b"a"], values, [[], []]))
    lines = list(written(found.in_order(), ["after.zone", "op"], "key", None, rows))
    assert list(map(orjson.loads, lines)) == [{"key": "a", "after": {"zone": "rest"}, "op": "u"}]
