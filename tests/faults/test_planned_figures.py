"""Figures of `unicorn_plan`: plans go through the internal log, whoever is killed in between."""

from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from fugu.dataflows.stages.log_entries import PLANS_KEY, MechanismPlan, read_entry
from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.swellfish.planning import Plan
from tests.faults.copies import in_kafka, name_of
from tests.faults.households import (
    FIRST,
    PARTITIONS,
    figures_of,
    meters,
    pipeline,
    policy,
    write_household,
)
from tests.faults.test_policy_barrier import counting
from tests.kafka.pipelines import Document, running
from tests.kafka.records import produce, read_topic
from tests.kafka.topics import TopicFactory

TICKS = 60
RELEASED = TICKS - 1
LIVE = 45
"""From this tick on, each arrives when the one before is released: no plan comes late."""
TRAVEL = policy("travel", 0, TICKS - 1, 0.1) | {"pattern": {"ticks": TICKS}}
POLICIES = [TRAVEL, policy("sauna", 40, 49, 4.0)]


@pytest.mark.parametrize(
    ("changing", "store"),
    [
        (True, "disk"),
        pytest.param(False, "disk", marks=pytest.mark.acceptance),
        pytest.param(False, "kafka", marks=pytest.mark.acceptance),
    ],
)
def test_a_pipeline_that_is_killed_takes_its_plans_from_the_log(
    bootstrap: str, topics: TopicFactory, tmp_path: Path, changing: bool, store: str
) -> None:
    """A second plan for the same tick, or one from memory, would release other figures."""
    source, random = topics("power", partitions=PARTITIONS), Random(1)
    document = pipeline(bootstrap, topics, source, topics("policies"))
    document["operator"]["kind"] = "unicorn_plan"
    if not changing:
        del document["source"]["policies"]
    if store == "kafka":
        document = in_kafka(document | {"name": name_of(source)})
    path = write_household(tmp_path, document, POLICIES)

    def are_committed(count: int) -> bool:
        """Offsets say less: marks of transactions have some, too."""
        return len(read_topic(bootstrap, document["sink"]["topic"])[0]) >= count

    with counting(bootstrap, document) as written:
        released = are_committed if store == "kafka" else written
        for begin, end in pairwise((0, 10, 25, LIVE)):
            produce(bootstrap, source, meters(begin, end, random))
            with running(path) as process:
                process.wait_until(partial(released, end - 1))
                process.wait_until(lambda: bool(plans(bootstrap, document)))
                process.kill()
        with running(path) as process:
            for tick in range(LIVE, TICKS):
                produce(bootstrap, source, meters(tick, tick + 1, random))
                process.wait_until(partial(released, tick))
            assert process.stop() == 0, process.stderr
    assert len(read_topic(bootstrap, document["sink"]["topic"])[0]) == RELEASED
    figures = figures_of(bootstrap, document)
    assert sorted(figures) == list(range(RELEASED))
    spent = {tick: one["publication_epsilon"] for tick, one in figures.items()}
    planned = {
        tick: {plan.charge(FIRST + tick) / UNITS_PER_NAT for plan in plans(bootstrap, document)}
        for tick in figures
    }
    used = [spent[tick] in planned[tick] for tick in range(LIVE, RELEASED)]
    assert used[-1]
    assert used == sorted(used), "once there is a plan, it is kept to"


def plans(bootstrap: str, document: Document) -> list[Plan]:
    """The plans that the internal log holds."""
    entries = read_topic(bootstrap, document["sink"]["partials"])[0]
    read = [read_entry(one.value, "log") for one in entries if one.key == PLANS_KEY]
    return [Plan.decoded(one.content) for one in read if isinstance(one, MechanismPlan)]
