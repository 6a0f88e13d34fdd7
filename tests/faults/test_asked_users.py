"""Users who are asked through the internal log report once, whoever is killed in between."""

from pathlib import Path

import orjson

from fugu.dataflows.stages.log_entries import ASKING_KEY, Asking, PartialSums, read_entry
from tests.faults.feeding import PARTITIONS
from tests.faults.killed_shards import Whole, killed_and_undisturbed
from tests.faults.test_aggregate_crashes import TICKS, ZONES, trips
from tests.kafka.records import read_topic
from tests.kafka.topics import TopicFactory

OPERATOR = {
    "kind": "lbd",
    "epsilon": 8.0,
    "window": 8,
    "groups": ZONES,
    "ticks": {"width": "1s", "grace": "400ms"},
}


def test_killed_processes_ask_and_report_as_undisturbed_ones(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    placed, late = trips()
    whole = Whole((TICKS - 1) * len(ZONES), late, partials=(TICKS - 1) * PARTITIONS)
    killed, undisturbed = killed_and_undisturbed(
        bootstrap, topics, tmp_path, placed, OPERATOR, whole
    )
    series = read_topic(bootstrap, killed["sink"]["topic"])
    assert series == read_topic(bootstrap, undisturbed["sink"]["topic"])
    assert read_topic(bootstrap, killed["sink"]["dead_letters"]) == read_topic(
        bootstrap, undisturbed["sink"]["dead_letters"]
    )
    figures = [orjson.loads(record.value or b"") for record in series[0]]
    assert {figure["published"] for figure in figures} == {True, False}
    logs = [read_topic(bootstrap, one["sink"]["partials"])[0] for one in (killed, undisturbed)]
    told = [{(record.key, record.value) for record in log} for log in logs]
    assert told[0] == told[1], "nobody reported with other words, and nothing else was asked"
    asked = [read_entry(record.value, "log") for record in logs[0] if record.key == ASKING_KEY]
    ticks = [one.tick for one in asked if isinstance(one, Asking)]
    assert len(set(ticks)) >= TICKS - 2
    assert b"user" not in b"".join(record.value or b"" for record in logs[0])
    sums = [read_entry(record.value, "log") for record in logs[0] if record.key != ASKING_KEY]
    assert all(isinstance(one, PartialSums) for one in sums)
