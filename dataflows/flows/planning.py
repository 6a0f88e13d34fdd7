"""Plan the dataflows of a pipeline: one for each shard; for an aggregate, merge and policies."""

import logging
from dataclasses import replace
from functools import partial

from fugu.dataflows.flows.asking import AskingPlan
from fugu.dataflows.flows.first_start import refuse_entries
from fugu.dataflows.flows.merging import MergingPlan
from fugu.dataflows.flows.plan import Plan
from fugu.dataflows.flows.policies import PoliciesPlan
from fugu.dataflows.flows.policy_noise import PolicyNoise
from fugu.dataflows.flows.policy_wait import PolicyWait
from fugu.dataflows.flows.preparation import Preparation
from fugu.dataflows.flows.sections import (
    aggregate_of,
    numbers_of,
    policies_of,
    publishes_the_truth,
    reports_spending,
    stage_of,
    summing_of,
)
from fugu.dataflows.flows.state_directories import merge_directory, policies_directory
from fugu.dataflows.flows.streams import StreamsPlan
from fugu.dataflows.flows.summing import SummingPlan
from fugu.dataflows.kinds import AggregateOperator
from fugu.dataflows.pipeline.policy_changes import signatures_of
from fugu.dataflows.pipeline.policy_topic import loss_remarks
from fugu.dataflows.pipeline.topics import (
    Topics,
    bounds_of,
    find_aggregate_topics,
    find_policies,
    find_topics,
)
from fugu.dataflows.policies.zone_changes import Clocks
from fugu.dataflows.publishing.pseudonyms import Strangers
from fugu.dataflows.stages.log_entries import COVERED_KEY, POLICIES_KEY, partition_key
from fugu.dataflows.stages.merging import Merging
from fugu.dataflows.stages.private_reports import PrivateReports

log = logging.getLogger(__name__)

_FIGURES_AT_ONCE = 1_000_000
"""Bound the figures of one batch of partial sums, whatever is waiting in the log."""


def plans_of(preparation: Preparation, shards: list[int] | None) -> list[Plan]:
    """Plan all dataflows of the given shards, of all if none are given."""
    aggregate = aggregate_of(preparation.pipeline)
    if aggregate is None:
        return _streams(preparation, shards)
    return _aggregate(preparation, aggregate, shards)


def _streams(preparation: Preparation, shards: list[int] | None) -> list[Plan]:
    """Plan one dataflow for each shard."""
    pipeline = preparation.pipeline
    topics = find_topics(preparation.client, pipeline, preparation.begun)
    directories = preparation.owned(shards, topics)
    source, admission = topics.source, preparation.admission(topics.source)
    stage = stage_of(pipeline, preparation.mechanism, preparation.scope, source.identity, admission)
    own = preparation.reading(stage)
    own["ledger"] = preparation.ledger if reports_spending(pipeline) else None
    plans: list[Plan] = [
        _refusing_strangers(
            preparation, preparation.plan(StreamsPlan, directory, topics, shard, **own)
        )
        for shard, directory in directories.items()
    ]
    preparation.enter(topics)
    return plans


def _refusing_strangers(preparation: Preparation, plan: StreamsPlan) -> StreamsPlan:
    """Return the plan, which admits no key of which nobody knows what it has spent."""
    names = plan.fingerprint.strangers
    if not names:
        return plan
    strangers = Strangers(preparation.pseudonyms, names)
    admission = replace(plan.stage.admission, are_strangers=strangers)
    return replace(plan, stage=replace(plan.stage, admission=admission))


def _aggregate(
    preparation: Preparation, operator: AggregateOperator, shards: list[int] | None
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
    admission = preparation.admission(summing.source)
    stage = summing_of(
        operator, preparation.mechanism, preparation.scope, summing.source.identity, admission
    )
    asks = isinstance(stage, PrivateReports) and stage.reporting.fixed is None
    shape, reading = AskingPlan if asks else SummingPlan, preparation.reading(stage)
    plans: list[Plan] = [
        preparation.plan(shape, directory, summing, shard, **reading)
        for shard, directory in directories.items()
    ]
    if shards is None or 0 in shards:
        changing = preparation.pipeline.source.policies
        wait = None if changing is None else PolicyWait(changing.topic)
        plans.append(_merging(preparation, operator, summing, merging, wait))
        if wait is not None:
            plans.append(_policies(preparation, summing, wait))
    preparation.enter(topics)
    return plans


def _merging(
    preparation: Preparation,
    operator: AggregateOperator,
    summing: Topics,
    merging: Topics,
    wait: PolicyWait | None,
) -> Plan:
    directory = merge_directory(preparation.file, preparation.directory_class)
    groups = numbers_of(operator, preparation.mechanism)
    identity, partitions = summing.source.identity, summing.source.partitions
    directory.lock()
    policies = policies_of(preparation.pipeline)
    if publishes_the_truth(preparation.pipeline):
        log.warning(
            "operator.irrelevant is exact: where no policy is relevant, true figures are published"
        )
    refuse_entries(preparation.client, summing.sink, directory, [partition_key(0)])
    return preparation.plan(
        MergingPlan,
        directory,
        merging,
        publisher=preparation.publisher(summing.source),
        max_batch=max(1, min(preparation.pipeline.source.max_batch, _FIGURES_AT_ONCE // groups)),
        merge=Merging(
            preparation.mechanism,
            preparation.scope,
            identity,
            partitions,
            groups,
            waits=wait is not None,
        ),
        ticks=operator.in_ticks(),
        figures=operator.figures(),
        wait=wait,
        clocks=policies and Clocks.of(policies.policies),
        noise=policies and partial(PolicyNoise, policies, merging.sink.name),
    )


def _policies(preparation: Preparation, summing: Topics, wait: PolicyWait) -> Plan:
    signatures = signatures_of(preparation.file)
    assert signatures is not None
    policies = find_policies(preparation.client, preparation.pipeline, signatures.topic)
    directory = policies_directory(preparation.file, preparation.directory_class)
    directory.lock()
    refuse_entries(preparation.client, summing.sink, directory, [POLICIES_KEY, COVERED_KEY])
    first = 0 if directory.stored() else bounds_of(preparation.client, policies, [0])[0].start
    for remark in loss_remarks(policies, signatures, first):
        log.warning("%s", remark)
    topics = Topics(policies, summing.sink, summing.dead_letters)
    return preparation.plan(PoliciesPlan, directory, topics, signatures=signatures, wait=wait)
