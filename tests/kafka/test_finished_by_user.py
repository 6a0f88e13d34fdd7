"""What streams hold back is published once, also where records are written by user first."""

import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest

from tests.kafka.pages import Pages
from tests.kafka.pipelines import refusal, running, write_pipeline
from tests.kafka.ports import free_ports
from tests.kafka.records import Placed, produce, read_topic
from tests.kafka.test_users_in_fields import (
    PARTITIONS,
    USERS,
    counted,
    document_of,
    record,
    require_each_once,
    until,
)
from tests.kafka.topics import TopicFactory


class HeldBack(NamedTuple):
    """A kind that holds records back, and what it releases of five of each user."""

    operator: dict[str, Any]
    before: int
    """How many releases each user has before anything is finished."""
    after: dict[object, int]
    """How many in the end, by what `shape` says of a release."""
    shape: Callable[[Any], object]
    symbols: tuple[str, ...] = ()


HELD_BACK = {
    "batched_crr": HeldBack(
        {"window": 3, "epsilon_per_batch": 3.0, "kernel": "heuristic"},
        before=1,
        after={3: 1, 2: 1},
        shape=lambda release: len(release["zone"]),
        symbols=("alphabet", "model"),
    ),
    "threshold_perturbation": HeldBack(
        {"window": 4, "threshold": 2, "ticks": "sequence"},
        before=2,
        after={"steady": 2, "cooldown": 2},
        shape=lambda release: release["phase"],
    ),
}


@pytest.mark.parametrize(
    ("kind", "store"),
    [
        ("threshold_perturbation", "disk"),
        pytest.param("batched_crr", "disk", marks=pytest.mark.acceptance),
        pytest.param("batched_crr", "kafka", marks=pytest.mark.acceptance),
        pytest.param("threshold_perturbation", "kafka", marks=pytest.mark.acceptance),
    ],
)
def test_what_is_held_back_comes_out_once_where_records_are_written_by_user(
    kind: str, store: str, bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    source, held = topics("held-back", partitions=PARTITIONS), HELD_BACK[kind]
    document = document_of(bootstrap, source, store, repartition=True)
    by_user, sink = f"{document['name']}.by-user", f"{source}.out"
    symbols = {name: document["operator"][name] for name in held.symbols}
    document["operator"] = {"kind": kind, **held.operator, **symbols}
    port = free_ports(1)
    document["metrics"] = {"port": port}
    strewn = [
        Placed((number + turn) % PARTITIONS, record(user))
        for turn in range(5)
        for number, user in enumerate(USERS)
    ]
    produce(bootstrap, source, strewn)
    pipeline = write_pipeline(tmp_path, document)
    with until(pipeline, bootstrap, {sink: held.before * len(USERS)}) as process:
        read = partial(Pages(port).sums, "fugu_records_in_total")
        process.wait_until(lambda: read().get(by_user) == len(strewn))
        assert process.stop() == 0, process.stderr
    unread = re.findall(r"up to (\d+) records from offset \d+ on stay unread", finished(pipeline))
    assert set(unread) <= {"1"}, "at most the mark of the last commit"
    require_each_once(bootstrap, by_user, strewn)
    produce(bootstrap, by_user, [Placed(0, record("canary-late", key=b"0/99"))])
    said = finished(pipeline)
    assert re.search(f"topic {by_user}, partition 0: up to [12] records from offset", said)
    assert f"records of {source} that are not written by user yet stay there" in said
    released = [
        orjson.loads(one.value or b"")
        for some in read_topic(bootstrap, sink).values()
        for one in some
    ]
    found = Counter(map(held.shape, released))
    assert found == {shape: count * len(USERS) for shape, count in held.after.items()}
    assert counted(bootstrap, f"{sink}.dead") == 0
    if store == "kafka":
        assert "--finish" in refusal(pipeline)


def finished(pipeline: Path) -> str:
    """What a run says that reads nothing more."""
    with running(pipeline, "--finish") as process:
        assert process.exit_code() == 0, process.stderr
        return process.stderr
