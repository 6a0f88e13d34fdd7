"""Dataflows of every shape, and how each is made."""

from fugu.dataflows.flows.aggregate_flow import (
    BoundingPlan,
    MergingPlan,
    build_bounding,
    build_merging,
)
from fugu.dataflows.flows.flow import Plan, Shard, build
from fugu.dataflows.flows.policy_flow import PolicyPlan, build_policies
from fugu.dataflows.flows.preparation import Preparation
from fugu.dataflows.flows.prepare import prepare
from fugu.dataflows.flows.prepare_aggregate import prepare_aggregate
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.kinds import AggregateOperator
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.operators.temporal.temporal_perturbation import End

AnyPlan = Plan | BoundingPlan | MergingPlan | PolicyPlan


def prepared(
    file: PipelineFile, shards: list[int] | None, stop: StopFlag, *, finishing: End | None = None
) -> list[AnyPlan]:
    """Plans whose state directories are owned by this process from now on; nothing is read yet.

    All of them end when `stop` is requested, and, if they are `finishing`, let out or
    discard what streams hold back.
    """
    preparation = Preparation.of(file, stop)
    if isinstance(file.pipeline.operator, AggregateOperator):
        return [*prepare_aggregate(preparation, shards)]
    return [*prepare(preparation, shards, finishing=finishing)]


def partitions_of(plans: list[AnyPlan]) -> list[int]:
    """The partitions of the source that are read."""
    return sorted(
        partition
        for plan in plans
        if isinstance(plan, Plan | BoundingPlan)
        for partition in plan.fingerprint.own_partitions
    )


def build_any(plan: AnyPlan) -> Shard:
    """The dataflow of a plan."""
    match plan:
        case Plan():
            return build(plan)
        case BoundingPlan():
            return build_bounding(plan)
        case MergingPlan():
            return build_merging(plan)
        case PolicyPlan():
            return build_policies(plan)
