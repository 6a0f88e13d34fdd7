"""A state of the version of Fugu before goes on with its budgets, and releases nothing twice.

The states in `recorded` were made by that version; `recorded_states` says how.
"""

import re
from contextlib import closing
from pathlib import Path

import orjson
import pytest
from kafka import KafkaConsumer

from tests.faults.killing import killed_inside
from tests.faults.recorded_states import (
    AGGREGATES,
    BUDGET,
    OPERATORS,
    STEPS,
    USERS,
    WITH_BUDGET,
    readings,
    restore,
    topic_names,
)
from tests.kafka.pipelines import ALPHABET, fugu, refusal, refused, running
from tests.kafka.records import end_offsets, produce, read_topic
from tests.thinned import in_acceptance

CHANGES = re.compile(r"(epsilon|epsilon_per_batch|window): ")
HALF = STEPS + STEPS // 2
REFUSED_IN_TWO_RUNS = 2 * STEPS // 4
ALIKE = ("adaptive_crr", "batched_crr", "cold_start_crr", "budget_distribution", "real_time_local")
"""Kinds of which others are like them; some compile for long."""


@pytest.mark.parametrize("kind", [in_acceptance(one) if one in ALIKE else one for one in OPERATORS])
def test_a_recorded_state_goes_on_with_its_budgets(
    kind: str, bootstrap: str, tmp_path: Path
) -> None:
    pipeline = restore(bootstrap, kind, tmp_path)
    names = topic_names(kind)
    before = read_topic(bootstrap, names["sanitized"])
    assert "fugu state upgrade" in refusal(pipeline)
    changed = tmp_path / "changed.yaml"
    changed.write_text(CHANGES.sub(r"\g<0>1", pipeline.read_text()))
    assert "Nothing was changed" in refused("state", "upgrade", changed)

    assert "all budgets stay" in fugu("state", "upgrade", pipeline)
    spent = largest_spent(pipeline)
    assert ": 0 of " in fugu("state", "upgrade", pipeline)
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:

        def published() -> int:
            return sum(end_offsets(consumer, names["sanitized"]))

        first = published()
        produce(bootstrap, names["private"], readings(range(STEPS, HALF)))
        with running(pipeline) as process:
            process.wait_until(lambda: published() > first)
            process.kill()
        produce(bootstrap, names["private"], readings(range(HALF, 2 * STEPS)))
        with running(pipeline) as process:
            process.wait_until(lambda: published() >= expected(kind))
            assert process.stop() == 0, process.stderr

    after = read_topic(bootstrap, names["sanitized"])
    for partition, records in before.items():
        assert after[partition][: len(records)] == records
    everything = [record for records in after.values() for record in records]
    assert len({record.headers[0] for record in everything}) == len(everything)
    assert len(everything) == expected(kind)
    if kind in WITH_BUDGET:
        assert spent <= largest_spent(pipeline) <= BUDGET * (1 + 1e-9)
        assert any(orjson.loads(record.value or b"").get("repeated") for record in everything)
    elif kind == "real_time_local":
        assert spent < largest_spent(pipeline)


def test_an_upgrade_that_was_killed_is_done_again(bootstrap: str, tmp_path: Path) -> None:
    pipeline = restore(bootstrap, "real_time", tmp_path)
    killed_inside("a shard not yet rotated", 2, "state", "upgrade", pipeline)
    assert "fugu state upgrade" in refusal(pipeline)
    assert ": 1 of 2" in fugu("state", "upgrade", pipeline)
    with running(pipeline) as process:
        assert process.stop() == 0, process.stderr


def test_a_state_that_was_not_stopped_gracefully_is_not_upgraded(
    bootstrap: str, tmp_path: Path
) -> None:
    pipeline = restore(bootstrap, "crr", tmp_path)
    (tmp_path / "state" / "shard-0000" / "stopped.json").unlink()
    assert "did not stop gracefully" in refused("state", "upgrade", pipeline)


def expected(kind: str) -> int:
    """Return how many releases there are in the end."""
    readings = 2 * STEPS * USERS - REFUSED_IN_TWO_RUNS
    if kind == "batched_crr":
        return sum(map(releases_of_batches, range(USERS)))
    if kind in AGGREGATES:
        return len(ALPHABET) * 2 * STEPS
    if kind == "threshold_perturbation":
        return USERS * (2 * STEPS - 4)
    return readings if kind != "real_time_local" else USERS * (2 * STEPS - 1)


def releases_of_batches(user: int) -> int:
    """Return how many releases a user has: the budget pays for five batches, and then repeats."""
    records = 2 * STEPS - (user == USERS - 1) * REFUSED_IN_TWO_RUNS
    window, paid = 4, int(BUDGET / 3.0)
    return min(records // window, paid) + max(0, records - window * paid)


def largest_spent(pipeline: Path) -> float:
    """Return what `fugu state show` says of the stream that spent most."""
    rows = orjson.loads(fugu("state", "show", pipeline, "--json"))
    return max(row["largest_spent"] or 0.0 for row in rows)
