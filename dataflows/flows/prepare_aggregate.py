"""Everything that is checked before an aggregate reads its first record."""

import logging
from collections.abc import Iterable
from contextlib import closing

from fugu.dataflows.base.errors import NEW_PIPELINE, StartRefused
from fugu.dataflows.flows.aggregate_flow import (
    BOUNDING_STEPS,
    MERGING_STEPS,
    BoundingPlan,
    MergingPlan,
)
from fugu.dataflows.flows.policy_flow import POLICY_STEPS, PolicyPlan
from fugu.dataflows.flows.preparation import Preparation
from fugu.dataflows.flows.state_directories import merge_directory, policies_directory
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.kinds import AggregateOperator, PolicyOperator
from fugu.dataflows.pipeline.topics import Topics, find_aggregate_topics, find_policies
from fugu.dataflows.stages.bounding import Bounding
from fugu.dataflows.stages.log_entries import POLICIES_KEY, partition_key
from fugu.dataflows.stages.merging import Merge
from fugu.dataflows.state.directory import StateDirectory

log = logging.getLogger(__name__)

AggregatePlan = BoundingPlan | MergingPlan | PolicyPlan

_FIGURES_AT_ONCE = 1_000_000
"""That one batch of partial sums may lead to, whatever is waiting in the log."""


def prepare_aggregate(preparation: Preparation, shards: list[int] | None) -> list[AggregatePlan]:
    """Plans of the given shards (of all, if none are given); the merge runs where shard 0 does, and
    so do changes of policies."""
    operator = preparation.pipeline.operator
    assert isinstance(operator, AggregateOperator)
    bounding, merging = find_aggregate_topics(preparation.client, preparation.pipeline)
    directories = preparation.owned(shards)
    topics = Topics(bounding.source, merging.sink, bounding.dead_letters)
    preparation.check_beginning(directories.values(), topics)
    for shard, directory in directories.items():
        own = preparation.fingerprint(bounding, shard).own_partitions
        _refuse_entries(preparation.client, bounding.sink, directory, map(partition_key, own))
    plans: list[AggregatePlan] = [
        BoundingPlan(
            name=preparation.pipeline.name,
            bounding=Bounding(
                operator.in_ticks(),
                operator.group_count,
                preparation.admission(bounding.source),
                sets=operator.sets,
            ),
            codec=preparation.configured.codec,
            publisher=preparation.publisher(bounding.source),
            client=preparation.client,
            directory=directory,
            fingerprint=preparation.continued(
                directory,
                preparation.fingerprint(bounding, shard, steps=BOUNDING_STEPS),
                bounding,
                shared_sink=True,
            ),
            max_batch=preparation.pipeline.source.max_batch,
            stop=preparation.stop,
            former=preparation.former_rows,
        )
        for shard, directory in directories.items()
    ]
    if shards is None or 0 in shards:
        plans.append(_merging(preparation, operator, bounding, merging))
        if isinstance(operator, PolicyOperator) and preparation.pipeline.source.policies:
            plans.append(_policies(preparation, operator, bounding))
    preparation.enter(topics)
    return plans


def _refuse_entries(
    client: Client, log: Topic, directory: StateDirectory, keys: Iterable[bytes]
) -> None:
    """Without a state there are no entries yet: what is in the log would be of another pipeline,
    with other limits to what one user contributes, or its budget would begin again."""
    if directory.stored() is not None:
        return
    own = set(keys)
    with closing(client.reader(log.name)) as reader:
        bound = reader.bounds([0])[0]
        for batch in reader.read_range(0, bound.start, bound.end):
            if not own.isdisjoint(batch.keys):
                raise StartRefused(
                    f"topic {log.name} (sink.partials) already holds partial sums, but there is no "
                    f"state for them in {directory.path}. Restore the state directory, or "
                    f"{NEW_PIPELINE}; sink.partials must be another topic, too."
                )


def _merging(
    preparation: Preparation, operator: AggregateOperator, bounding: Topics, merging: Topics
) -> MergingPlan:
    directory = merge_directory(preparation.file)
    directory.lock()
    if isinstance(operator, PolicyOperator) and operator.irrelevant == "exact":
        log.warning(
            "operator.irrelevant is exact: where no policy is relevant, true figures are published"
        )
    _refuse_entries(preparation.client, bounding.sink, directory, [partition_key(0)])
    fingerprint = preparation.fingerprint(merging, 0, shards=1, steps=MERGING_STEPS)
    return MergingPlan(
        name=preparation.pipeline.name,
        merge=Merge(
            preparation.mechanism,
            preparation.scope,
            bounding.source.identity,
            bounding.source.partitions,
            operator.group_count,
        ),
        ticks=operator.in_ticks(),
        figures=operator.figures(),
        publisher=preparation.publisher(bounding.source),
        client=preparation.client,
        directory=directory,
        fingerprint=preparation.continued(directory, fingerprint, merging),
        max_batch=max(
            1, min(preparation.pipeline.source.max_batch, _FIGURES_AT_ONCE // operator.group_count)
        ),
        stop=preparation.stop,
    )


def _policies(preparation: Preparation, operator: PolicyOperator, bounding: Topics) -> PolicyPlan:
    name = preparation.pipeline.source.policies
    assert name is not None
    policies = find_policies(preparation.client, preparation.pipeline, name)
    topics = Topics(policies, bounding.sink, bounding.dead_letters)
    directory = policies_directory(preparation.file)
    directory.lock()
    _refuse_entries(preparation.client, bounding.sink, directory, [POLICIES_KEY])
    fingerprint = preparation.fingerprint(topics, 0, shards=1, steps=POLICY_STEPS)
    return PolicyPlan(
        name=preparation.pipeline.name,
        read_change=operator.read_change,
        publisher=preparation.publisher(policies),
        client=preparation.client,
        directory=directory,
        fingerprint=preparation.continued(directory, fingerprint, topics, shared_sink=True),
        max_batch=preparation.pipeline.source.max_batch,
        stop=preparation.stop,
    )
