"""Prepare a start: look at everything that it would refuse, then own and claim its states."""

from dataclasses import dataclass

from fugu.dataflows.base.logs import silent
from fugu.dataflows.flows.given import Given
from fugu.dataflows.flows.plan import Plan
from fugu.dataflows.flows.planning import plans_of
from fugu.dataflows.flows.preparation import Preparation
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.operators.temporal.temporal_perturbation import End


def prepared(
    file: PipelineFile, shards: list[int] | None, stop: StopFlag, *, finishing: End | None = None
) -> list[Plan]:
    """Return plans of the given shards (of all, if none are given); nothing is read yet.

    Their state directories are owned by this process from now on. All of them end when `stop` is
    requested, and, if they are `finishing`, let out or discard what streams hold back. The merge of
    an aggregate, and changes of policies, run where shard 0 does.
    """
    return _prepared(Given.by(file), shards, stop, finishing)


def prepared_after_a_look(
    file: PipelineFile, shards: list[int] | None, stop: StopFlag, *, finishing: End | None = None
) -> list[Plan]:
    """Return what `prepared` does, but look first, so that a refused start creates nothing."""
    given = Given.by(file)
    _looked_at(given, shards, finishing)
    return _prepared(given, shards, stop, finishing)


@dataclass(frozen=True)
class Look:
    """Hold the plans of a start, of which none is ever to run, and what it would warn of."""

    plans: list[Plan]
    warnings: list[str]


def looked_at(
    file: PipelineFile, shards: list[int] | None = None, *, finishing: End | None = None
) -> Look:
    """Raise what a start would refuse; nothing is created, written or said."""
    return _looked_at(Given.by(file), shards, finishing)


def _prepared(
    given: Given, shards: list[int] | None, stop: StopFlag, finishing: End | None
) -> list[Plan]:
    preparation = Preparation(given, stop, finishing)
    plans = plans_of(preparation, shards)
    preparation.claim(plans)
    return plans


def _looked_at(given: Given, shards: list[int] | None, finishing: End | None) -> Look:
    with silent() as warnings:
        preparation = Preparation(given, StopFlag(), finishing, looking=True)
        plans = plans_of(preparation, shards)
        preparation.require_claims(plans)
        for plan in plans:
            plan.require_resumable()
            plan.require_whole_rows()
    return Look(plans, warnings)
