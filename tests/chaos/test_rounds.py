"""Brokers and copies are lost and come back, each in its own way, and nothing of it shows."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

import pytest

from tests.chaos.copies import Store
from tests.chaos.faults import OF_BROKERS, OF_COPIES, Fault
from tests.chaos.rounds import PER_ROUND, Plan, Rounds
from tests.kafka.cluster import Cluster

pytestmark = pytest.mark.acceptance
SEED = 26


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        yield cluster


@pytest.mark.parametrize("store", get_args(Store))
@pytest.mark.parametrize("faults", [OF_BROKERS, OF_COPIES], ids=["brokers", "copies"])
def test_topics_equal_those_of_peace_after_every_fault(
    cluster: Cluster, tmp_path: Path, faults: Sequence[Fault], store: Store
) -> None:
    rounds = Rounds(cluster, tmp_path, store=store, seed=SEED, rounds=len(faults))
    with rounds.running() as running:
        for number, fault in enumerate(faults):
            running.play(Plan(number, [(PER_ROUND // 2, fault)]))
    if faults is OF_COPIES and store == "kafka":
        assert rounds.aborted > 0, "some fault hit between the publication and the commit"
