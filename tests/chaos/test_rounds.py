"""Brokers and copies are lost and come back, each in its own way, and nothing of it shows."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

import pytest

from tests.chaos.copies import Store
from tests.chaos.faults import OF_BROKERS, OF_COPIES, Fault
from tests.chaos.loads import NAMES, City, Name, load_of
from tests.chaos.rounds import Plan, Rounds, plans
from tests.kafka.broker import Broker
from tests.kafka.cluster import Cluster

SEED = 26
ROUNDS = 20
"""How many are played in `make test`, of one fault each."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        yield cluster


@pytest.mark.slow
def test_copies_that_bound_and_merge_release_after_twenty_faults_what_one_run_releases(
    broker: Broker, tmp_path: Path
) -> None:
    load = City.of(ROUNDS, SEED)
    rounds = Rounds(broker, tmp_path, load, store="kafka", seed=SEED)
    with rounds.running() as running:
        for plan in plans(ROUNDS, OF_COPIES, SEED, load.per_round, each=1):
            running.play(plan)


@pytest.mark.acceptance
@pytest.mark.parametrize("load", NAMES)
@pytest.mark.parametrize("store", get_args(Store))
@pytest.mark.parametrize("faults", [OF_BROKERS, OF_COPIES], ids=["brokers", "copies"])
def test_topics_equal_those_of_peace_after_every_fault(
    cluster: Cluster, tmp_path: Path, faults: Sequence[Fault], store: Store, load: Name
) -> None:
    given = load_of(load, len(faults), SEED)
    rounds = Rounds(cluster, tmp_path, given, store=store, seed=SEED)
    with rounds.running() as running:
        for number, fault in enumerate(faults):
            running.play(Plan(number, [(given.per_round // 2, fault)]))
    if faults is OF_COPIES and store == "kafka" and load == "streams":
        assert rounds.aborted > 0, "some fault hit between the publication and the commit"
