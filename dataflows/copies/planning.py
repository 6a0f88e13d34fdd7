"""Plan a copy: check everything, and begin the state where there is none."""

from dataclasses import dataclass

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.base.logs import silent
from fugu.dataflows.flows.bounding import BoundingPlan
from fugu.dataflows.flows.given import Given
from fugu.dataflows.flows.merging import MergingPlan
from fugu.dataflows.flows.plan import Plan
from fugu.dataflows.flows.planning import copied_aggregate, streams_plan
from fugu.dataflows.flows.policies import PoliciesPlan
from fugu.dataflows.flows.preparation import Preparation
from fugu.dataflows.flows.sections import is_merged
from fugu.dataflows.flows.starting import Look
from fugu.dataflows.flows.streams import StreamsPlan
from fugu.dataflows.kafka.client import CopyClient
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.topics import Topics, find_aggregate_topics, find_topics
from fugu.dataflows.publishing.registration import refuse_a_second_sink
from fugu.dataflows.state.state_topic import StateTopic
from fugu.operators.temporal.temporal_perturbation import End


@dataclass(frozen=True)
class Planned:
    """Hold what a copy runs, through which client, and where its state is.

    `plan` reads the source. An aggregate has a `merge`, too, which reads the internal log, and
    `policies`, where these change while it runs.
    """

    plan: StreamsPlan | BoundingPlan
    client: CopyClient
    state: StateTopic
    merge: MergingPlan | None = None
    policies: PoliciesPlan | None = None

    @property
    def plans(self) -> list[Plan]:
        """Return all plans."""
        every: list[Plan | None] = [self.plan, self.merge, self.policies]
        return [one for one in every if one is not None]

    def state_of(self, plan: Plan) -> StateTopic:
        """Return the part of the state that is of one of the plans."""
        if isinstance(plan, MergingPlan):
            return self.state.of_merge()
        return self.state.of_policies() if isinstance(plan, PoliciesPlan) else self.state


def planned(file: PipelineFile, stop: StopFlag, finishing: End | None) -> Planned:
    """Return the plan of a copy, which owns nothing yet; look first, so that a refused start
    creates nothing."""
    given = Given.by(file)
    _looked_at(given, finishing)
    preparation = Preparation(given, stop, finishing)
    plan, merge, policies = _plans(preparation)
    assert given.copies is not None
    assert preparation.state_topic is not None
    return Planned(plan, given.copies, preparation.state_topic, merge, policies)


def looked_at_copy(file: PipelineFile, finishing: End | None) -> Look:
    """Raise what a start would refuse; nothing is created, written or said."""
    return _looked_at(Given.by(file), finishing)


def _looked_at(given: Given, finishing: End | None) -> Look:
    with silent() as warnings:
        plans = _plans(Preparation(given, StopFlag(), finishing, looking=True))
    return Look([plan for plan in plans if plan is not None], warnings)


def _plans(
    preparation: Preparation,
) -> tuple[StreamsPlan | BoundingPlan, MergingPlan | None, PoliciesPlan | None]:
    if is_merged(preparation.pipeline):
        return _aggregate(preparation)
    topics = find_topics(preparation.client, preparation.pipeline, preparation.begun)
    state = _begin(preparation, topics)
    plan = streams_plan(preparation, state, topics, None)
    preparation.enter(topics)
    return plan, None, None


def _aggregate(
    preparation: Preparation,
) -> tuple[BoundingPlan, MergingPlan, PoliciesPlan | None]:
    summing, merging = find_aggregate_topics(
        preparation.client, preparation.pipeline, preparation.begun
    )
    topics = Topics(summing.source, merging.sink, summing.dead_letters)
    _begin(preparation, topics)
    plans = copied_aggregate(preparation, summing, merging)
    preparation.enter(topics)
    return plans


def _begin(preparation: Preparation, topics: Topics) -> StateTopic:
    """Return the state; refuse to begin one where something knows that there was one."""
    state = preparation.state_topic
    assert state is not None
    if preparation.begun is None:
        _require_no_past(preparation, state)
        if preparation.ledger is not None:
            entry = preparation.entry(topics)
            refuse_a_second_sink(preparation.client, preparation.ledger, entry)
    return state


def _require_no_past(preparation: Preparation, state: StateTopic) -> None:
    if preparation.scope.key_epoch > 0:
        raise StartRefused(
            f"there is no state in topic {state.topic.name}, but secret names keys that fugu "
            "state rotate made for one: what was released before would be released a second time, "
            "with other noise. Restore the topic."
        )
    if state.holds_blocks() and state.stored() is None:
        raise StartRefused(
            f"topic {state.topic.name} holds a state, but not what it belongs to. If fugu state "
            "move was cut short, run it once more; otherwise records were removed: restore the "
            "topic, because starting without them would reset budgets."
        )
