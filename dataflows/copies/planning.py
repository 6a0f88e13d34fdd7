"""Plan a copy: check everything, and begin the state where there is none."""

from dataclasses import dataclass

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.base.logs import silent
from fugu.dataflows.flows.given import Given
from fugu.dataflows.flows.planning import streams_plan
from fugu.dataflows.flows.preparation import Preparation
from fugu.dataflows.flows.starting import Look
from fugu.dataflows.flows.streams import StreamsPlan
from fugu.dataflows.kafka.client import CopyClient
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.pipeline.topics import find_topics
from fugu.dataflows.publishing.registration import refuse_a_second_sink
from fugu.dataflows.state.state_topic import StateTopic
from fugu.operators.temporal.temporal_perturbation import End


@dataclass(frozen=True)
class Planned:
    """Hold what a copy runs, through which client, and where its state is."""

    plan: StreamsPlan
    client: CopyClient
    state: StateTopic


def planned(file: PipelineFile, stop: StopFlag, finishing: End | None) -> Planned:
    """Return the plan of a copy, which owns nothing yet; look first, so that a refused start
    creates nothing."""
    given = Given.by(file)
    _looked_at(given, finishing)
    preparation = Preparation(given, stop, finishing)
    plan = _plan(preparation)
    assert given.copies is not None
    assert preparation.state_topic is not None
    return Planned(plan, given.copies, preparation.state_topic)


def looked_at_copy(file: PipelineFile, finishing: End | None) -> Look:
    """Raise what a start would refuse; nothing is created, written or said."""
    return _looked_at(Given.by(file), finishing)


def _looked_at(given: Given, finishing: End | None) -> Look:
    with silent() as warnings:
        plan = _plan(Preparation(given, StopFlag(), finishing, looking=True))
    return Look([plan], warnings)


def _plan(preparation: Preparation) -> StreamsPlan:
    topics = find_topics(preparation.client, preparation.pipeline, preparation.begun)
    state = preparation.state_topic
    assert state is not None
    if preparation.begun is None:
        _require_no_past(preparation, state)
        if preparation.ledger is not None:
            entry = preparation.entry(topics)
            refuse_a_second_sink(preparation.client, preparation.ledger, entry)
    plan = streams_plan(preparation, state, topics, None)
    preparation.enter(topics)
    return plan


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
