"""A check of Kafka warns of partitions too large for a transaction, and of fewer replicas."""

import pytest

from fugu.dataflows.commands.validate_copies import first_block_remarks, replica_remarks
from fugu.dataflows.kafka.client import Topic

CRR_BYTES = 88


@pytest.mark.parametrize(("users", "warned"), [(2_000_000, False), (2_500_000, True)])
def test_a_partition_of_more_than_some_two_million_users_is_warned_of(
    users: int, *, warned: bool
) -> None:
    assert bool([*first_block_remarks(users * 4, 4, CRR_BYTES, 0.5)]) == warned


def test_the_advice_is_an_interval_with_which_the_partition_fits() -> None:
    [remark] = first_block_remarks(4_000_000, 1, CRR_BYTES, 0.5)
    assert "or state.every: 2s" in remark
    assert not [*first_block_remarks(4_000_000, 1, CRR_BYTES, 2.0)]


def test_no_interval_is_advised_where_none_is_long_enough() -> None:
    [remark] = first_block_remarks(40_000_000, 1, CRR_BYTES, 0.5)
    assert "state.every" not in remark


@pytest.mark.parametrize(
    ("state", "sink", "warned"), [(1, 3, True), (3, 3, False), (3, 1, False), (None, 3, False)]
)
def test_a_state_on_fewer_brokers_than_the_sink_is_warned_of(
    state: int | None, sink: int, *, warned: bool
) -> None:
    of_state, of_sink = Topic("a.state", "i", 4, None, state), Topic("a", "j", 4, None, sink)
    assert bool([*replica_remarks(of_state, of_sink)]) == warned


def test_a_topic_that_is_not_there_yet_is_not_judged() -> None:
    assert not [*replica_remarks(None, Topic("a", "j", 4, None, 3))]
