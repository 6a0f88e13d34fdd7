"""Figures under policies of the version before go on: what they hide stays hidden."""

from contextlib import closing
from pathlib import Path

import orjson
import pytest
from kafka import KafkaConsumer

from fugu.dataflows.stages.log_entries import POLICIES_KEY, PolicyChange, read_entry
from tests.faults.recorded_policies import (
    CHANGES,
    FIRST,
    FURTHER,
    LONG,
    NAMES,
    STOPPED,
    addition,
    meters,
)
from tests.faults.recorded_states import SECOND, UNDER_POLICIES, restore
from tests.kafka.pipelines import fugu, refusal, running
from tests.kafka.records import Record, end_offsets, produce, read_topic

HALF, TICKS = 23, 40
"""The pipeline is killed once the first of these is read: the guests of before are there."""
HIDDEN = [(3, 6, 1.0), (10, 20, 4.0), (22, 24, 2.0), (34, 36, 3.0)]
"""Tea and sauna were configured; guests came and the bath went before the upgrade, the visit comes
after it."""


def test_policies_budgets_and_the_log_of_the_version_before_go_on(
    bootstrap: str, tmp_path: Path
) -> None:
    pipeline = restore(bootstrap, UNDER_POLICIES, tmp_path)
    before = read_topic(bootstrap, NAMES["sanitized"])[0]
    assert len(before) == STOPPED - 1
    assert "fugu state upgrade" in refusal(pipeline)
    assert "all budgets stay" in fugu("state", "upgrade", pipeline)

    private = NAMES["private"]
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:

        def released() -> int:
            return sum(end_offsets(consumer, NAMES["sanitized"]))

        produce(bootstrap, private, meters(range(STOPPED, HALF), [0]))
        produce(bootstrap, private, meters(range(FURTHER, HALF), [1]))
        with running(pipeline) as process:
            process.wait_until(lambda: released() >= HALF - 1)
            said = process.stderr
            process.kill()
        produce(bootstrap, NAMES["policies"], [addition(30, "visit", 34, 36, 3.0)])
        produce(bootstrap, private, meters(range(HALF, TICKS)))
        with running(pipeline) as process:
            process.wait_until(lambda: released() >= TICKS - 1)
            assert process.stop() == 0, process.stderr

    after = read_topic(bootstrap, NAMES["sanitized"])[0]
    assert after[: len(before)] == before
    figures = [orjson.loads(record.value or b"") for record in after]
    ticks = [figure["start"] // SECOND - FIRST for figure in figures]
    assert ticks == list(range(TICKS - 1))
    asked = [sum(theta for start, end, theta in HIDDEN if start <= tick <= end) for tick in ticks]
    assert [figure["sensitivity"] for figure in figures] == pytest.approx(asked)
    spent = [one["decision_epsilon"] + one["publication_epsilon"] for one in figures]
    assert all("policies" not in figure for figure in figures[: len(before)])
    assert len({figure["policies"] for figure in figures[len(before) :]}) == 2
    assert sum(spent[10:21]) <= 1.0 + 1e-9, "each tick of the sauna may change"
    published = [one["publication_epsilon"] for one in figures[10:21]]
    assert min(sum(published[:3]), sum(published[3:])) > 0, "before and after the upgrade"
    for number, share in enumerate(published):
        left = 0.5 - sum(published[:number])
        assert share in (0, pytest.approx(left / (11 - number))), "an even share of what is left"
    for start, end, _ in HIDDEN:
        assert 0 < max(spent[start : end + 1]) <= 1.0 + 1e-9
    told = policy_offsets(read_topic(bootstrap, NAMES["partials"])[0])
    assert told == [*[None] * len(CHANGES), len(CHANGES)], "no change is told again"
    assert f"home/cruise has intervals of up to {LONG:,} ticks" in said


def policy_offsets(entries: list[Record]) -> list[int | None]:
    """Return where the changes stood that the internal log holds."""
    read = [read_entry(one.value, "log") for one in entries if one.key == POLICIES_KEY]
    return [one.offset for one in read if isinstance(one, PolicyChange)]
