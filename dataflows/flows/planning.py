"""Plan the dataflows of a pipeline: one for each shard; for an aggregate, merge and policies."""

import logging
from dataclasses import replace
from functools import partial
from typing import Any

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.flows.anonymizing import AnonymizingPlan
from fugu.dataflows.flows.asking import AskingPlan
from fugu.dataflows.flows.bounding import BoundingPlan
from fugu.dataflows.flows.first_start import refuse_entries
from fugu.dataflows.flows.merging import MergingPlan
from fugu.dataflows.flows.plan import Plan
from fugu.dataflows.flows.policies import PoliciesPlan
from fugu.dataflows.flows.policy_noise import PolicyNoise
from fugu.dataflows.flows.policy_wait import PolicyWait
from fugu.dataflows.flows.preparation import Preparation
from fugu.dataflows.flows.sections import (
    numbers_of,
    policies_of,
    publishes_the_truth,
    reports_spending,
    stage_of,
    summing_of,
)
from fugu.dataflows.flows.state_directories import merge_directory, policies_directory
from fugu.dataflows.flows.streams import StreamsPlan
from fugu.dataflows.kafka.client import Topic
from fugu.dataflows.kinds import AggregateOperator, AnonymizeOperator
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.pipeline.policy_changes import loss_remarks, signatures_of
from fugu.dataflows.pipeline.topics import (
    Topics,
    bounds_of,
    find_aggregate_topics,
    find_policies,
    find_topics,
)
from fugu.dataflows.policies.changes import Clocks
from fugu.dataflows.publishing.envelope import Strangers
from fugu.dataflows.stages.anonymizing import Anonymizing
from fugu.dataflows.stages.bounding import Bounding
from fugu.dataflows.stages.log_entries import COVERED_KEY, POLICIES_KEY, partition_key
from fugu.dataflows.stages.merging import Merging
from fugu.dataflows.stages.private_reports import PrivateReports
from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.fingerprint import Fingerprint
from fugu.dataflows.state.state_topic import StateTopic
from fugu.operators.anonymity.windows import AnonymizedWindows

log = logging.getLogger(__name__)

_FIGURES_AT_ONCE = 1_000_000
"""Bound the figures of one batch of partial sums, whatever is waiting in the log."""
_ENTRIES_OF_PEOPLE = 20
"""Bound what is read of people at once: an entry may take most of a megabyte."""


def plans_of(preparation: Preparation, shards: list[int] | None) -> list[Plan]:
    """Plan all dataflows of the given shards, of all if none are given."""
    operator = preparation.pipeline.operator
    if isinstance(operator, AggregateOperator | AnonymizeOperator):
        return _merged(preparation, operator, shards)
    return _streams(preparation, shards)


def _streams(preparation: Preparation, shards: list[int] | None) -> list[Plan]:
    """Plan one dataflow for each shard."""
    pipeline = preparation.pipeline
    topics = find_topics(preparation.client, pipeline, preparation.begun)
    directories = preparation.owned(shards, topics)
    plans: list[Plan] = [
        streams_plan(preparation, directory, topics, shard)
        for shard, directory in directories.items()
    ]
    preparation.enter(topics)
    return plans


def streams_plan(
    preparation: Preparation, home: StateDirectory | StateTopic, topics: Topics, shard: int | None
) -> StreamsPlan:
    """Plan the dataflow of one shard, or of all partitions."""
    pipeline, source = preparation.pipeline, topics.source
    admission = preparation.admission(source)
    stage = stage_of(pipeline, preparation.mechanism, preparation.scope, source.identity, admission)
    own = preparation.reading(stage)
    own["ledger"] = preparation.ledger if reports_spending(pipeline) else None
    plan = preparation.plan(StreamsPlan, home, topics, shard, **own)
    return _refusing_strangers(preparation, plan)


def _refusing_strangers(preparation: Preparation, plan: StreamsPlan) -> StreamsPlan:
    """Return the plan, which admits no key of which nobody knows what it has spent."""
    names = plan.fingerprint.strangers
    if not names:
        return plan
    strangers = Strangers(preparation.pseudonyms, names)
    admission = replace(plan.stage.admission, are_strangers=strangers)
    return replace(plan, stage=replace(plan.stage, admission=admission))


def _merged(
    preparation: Preparation,
    operator: AggregateOperator | AnonymizeOperator,
    shards: list[int] | None,
) -> list[Plan]:
    """Plan one dataflow for each shard, the merge, and changes of policies."""
    summing, merging = find_aggregate_topics(
        preparation.client, preparation.pipeline, preparation.begun
    )
    topics = Topics(summing.source, merging.sink, summing.dead_letters)
    directories = preparation.owned(shards, topics)
    for shard, directory in directories.items():
        own = range(shard, summing.source.partitions, preparation.pipeline.state.shards)
        refuse_entries(preparation.client, summing.sink, directory, map(partition_key, own))
    stage = _bounding(preparation, operator, summing.source)
    asks = isinstance(stage, PrivateReports) and stage.reporting.fixed is None
    shape, reading = AskingPlan if asks else BoundingPlan, preparation.reading(stage)
    plans: list[Plan] = [
        preparation.plan(shape, directory, summing, shard, **reading)
        for shard, directory in directories.items()
    ]
    if shards is None or 0 in shards:
        changing = preparation.pipeline.source.policies
        wait = None if changing is None else PolicyWait(changing.topic)
        directory = merge_directory(preparation.file, preparation.directory_class)
        directory.lock()
        refuse_entries(preparation.client, summing.sink, directory, [partition_key(0)])
        if isinstance(operator, AnonymizeOperator):
            plans.append(_anonymizing(preparation, operator, directory, summing, merging))
        else:
            begun = plans[0].fingerprint.partitions_at_first
            plans.append(_merging(preparation, operator, directory, summing, merging, begun, wait))
        if wait is not None:
            directory = policies_directory(preparation.file, preparation.directory_class)
            directory.lock()
            plans.append(_policies(preparation, summing, wait, directory))
    preparation.enter(topics)
    return plans


def copied_aggregate(
    preparation: Preparation, summing: Topics, merging: Topics
) -> tuple[BoundingPlan, MergingPlan, PoliciesPlan | None]:
    """Plan the dataflows of an aggregate whose state is in Kafka, for all partitions."""
    operator, state = preparation.pipeline.operator, preparation.state_topic
    assert isinstance(operator, AggregateOperator)
    assert state is not None
    keys = [partition_key(partition) for partition in range(summing.source.partitions)]
    refuse_entries(preparation.client, summing.sink, state, keys)
    reading = preparation.reading(_bounding(preparation, operator, summing.source))
    bounding = preparation.plan(BoundingPlan, state, summing, **reading)
    _require_a_place_for_each(preparation.pipeline, state, bounding.fingerprint)
    of_merge, begun = state.of_merge(), bounding.fingerprint.partitions_at_first
    refuse_entries(preparation.client, summing.sink, of_merge, keys)
    changing = preparation.pipeline.source.policies
    wait = None if changing is None else PolicyWait(changing.topic)
    merge = _merging(preparation, operator, of_merge, summing, merging, begun, wait)
    if changing is None:
        return bounding, merge, None
    own_wait = PolicyWait(changing.topic)  # of a copy that may be another one than the merge's
    return bounding, merge, _policies(preparation, summing, own_wait, state.of_policies())


def _require_a_place_for_each(pipeline: Pipeline, state: StateTopic, stored: Fingerprint) -> None:
    """Refuse a state topic without a place for policies: they did not change when it was made."""
    needed = state.topic.partitions + stored.partitions - state.partitions
    if needed > state.topic.partitions and pipeline.source.policies is not None:
        raise KafkaUnavailable(
            f"topic {state.topic.name} (state.topic) has {state.topic.partitions} partitions, and "
            f"needs {needed} with source.policies. Add one: kafka-topics.sh --alter --topic "
            f"{state.topic.name} --partitions {needed}"
        )


def _bounding(
    preparation: Preparation, operator: AggregateOperator | AnonymizeOperator, source: Topic
) -> Bounding[Any]:
    admission = preparation.admission(source)
    if isinstance(operator, AnonymizeOperator):
        return operator.gathering(admission)
    return summing_of(
        operator, preparation.mechanism, preparation.scope, source.identity, admission
    )


def _anonymizing(
    preparation: Preparation,
    operator: AnonymizeOperator,
    directory: StateDirectory,
    summing: Topics,
    merging: Topics,
) -> Plan:
    mechanism, source = preparation.mechanism, summing.source
    assert isinstance(mechanism, AnonymizedWindows)
    return preparation.plan(
        AnonymizingPlan,
        directory,
        merging,
        publisher=preparation.publisher(source),
        max_batch=_ENTRIES_OF_PEOPLE,
        merge=Anonymizing(mechanism, preparation.scope, source.identity, source.partitions),
        ticks=operator.in_ticks(),
        records=operator.records(preparation.pipeline.source.field),
    )


def _merging(
    preparation: Preparation,
    operator: AggregateOperator,
    home: StateDirectory | StateTopic,
    summing: Topics,
    merging: Topics,
    begun: int,
    wait: PolicyWait | None,
) -> MergingPlan:
    merge = merge_of(preparation, operator, summing.source, begun, waits=wait is not None)
    policies = policies_of(preparation.pipeline)
    if publishes_the_truth(preparation.pipeline):
        log.warning(
            "operator.irrelevant is exact: where no policy is relevant, true figures are published"
        )
    return preparation.plan(
        MergingPlan,
        home,
        merging,
        publisher=preparation.publisher(summing.source),
        max_batch=max(
            1, min(preparation.pipeline.source.max_batch, _FIGURES_AT_ONCE // merge.groups)
        ),
        merge=merge,
        ticks=operator.in_ticks(),
        figures=operator.figures(),
        wait=wait,
        clocks=policies and Clocks.of(policies.policies),
        noise=policies and partial(PolicyNoise, policies, merging.sink.name),
    )


def merge_of(
    preparation: Preparation, operator: AggregateOperator, source: Topic, begun: int, *, waits: bool
) -> Merging:
    """Return the merge of a source, which had so many partitions when the pipeline had `begun`."""
    mechanism, scope = preparation.mechanism, preparation.scope
    groups = numbers_of(operator, mechanism)
    return Merging(mechanism, scope, source.identity, begun, groups, waits=waits)


def _policies(
    preparation: Preparation, summing: Topics, wait: PolicyWait, home: StateDirectory | StateTopic
) -> PoliciesPlan:
    signatures = signatures_of(preparation.file)
    assert signatures is not None
    policies = find_policies(preparation.client, preparation.pipeline, signatures.topic)
    refuse_entries(preparation.client, summing.sink, home, [POLICIES_KEY, COVERED_KEY])
    first = 0 if home.stored() else bounds_of(preparation.client, policies, [0])[0].start
    for remark in loss_remarks(policies, signatures, first):
        log.warning("%s", remark)
    topics = Topics(policies, summing.sink, summing.dead_letters)
    return preparation.plan(PoliciesPlan, home, topics, signatures=signatures, wait=wait)
