"""Run one copy of a pipeline whose state is in Kafka, and begin again where others went on.

What goes wrong between two cuts costs nothing but the time to read the state back: what was written
is aborted, all tables are forgotten, and the group gives partitions out anew.
"""

import logging
import os
import sys
import time
from collections import deque
from contextlib import closing
from dataclasses import replace
from typing import Self

from bytewax.dataflow import Dataflow
from bytewax.run import cli_main

from fugu.dataflows.base.errors import (
    NO_RESTART_HELPS,
    ConfigurationError,
    GivenAway,
    ShutOut,
    exit_code,
    native_stderr_hidden,
)
from fugu.dataflows.copies.copy import Copy
from fugu.dataflows.copies.dataflow import EPOCH, dataflow_of
from fugu.dataflows.copies.instance import changing, instance, merging
from fugu.dataflows.copies.planning import Planned, planned
from fugu.dataflows.copies.settings import CopySettings
from fugu.dataflows.flows.bounding import BoundingPlan
from fugu.dataflows.flows.merging import MergingPlan
from fugu.dataflows.flows.plan import Plan
from fugu.dataflows.flows.policies import PoliciesPlan
from fugu.dataflows.flows.sections import end_of
from fugu.dataflows.flows.streams import StreamsPlan
from fugu.dataflows.kafka.client import identity_of
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.monitoring.monitor import Monitor
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.publishing.envelope import Pseudonyms
from fugu.dataflows.run.beside import refuse_by_user, written_by_user
from fugu.dataflows.run.causes import cause, collect_garbage_seldom
from fugu.dataflows.run.link import Link
from fugu.dataflows.run.renewal import Renewal
from fugu.dataflows.run.stopping import Starting, start_again
from fugu.dataflows.state.state_topic import StateTopic
from fugu.operators import compiled

_MOST_BEGINNINGS, _WITHIN_SECONDS = 5, 60.0
_RECOVERY = "BYTEWAX_RECOVERY_DIRECTORY"

log = logging.getLogger(__name__)


def run_copy(file: PipelineFile, *, finish: bool = False, supervised_as: int | None = None) -> None:
    """Run a copy until told to stop; anything else raises and is safe to repeat."""
    finishing = end_of(file.pipeline) if finish else None
    os.umask(0o077)
    starting, supervised = Starting(file.pipeline.name), supervised_as is not None
    name = instance(supervised_as)
    collect_garbage_seldom()
    renewal = Renewal(file)
    with Monitor(file, supervised=supervised) as monitor:
        if supervised:
            Link(monitor.report, starting.stop.request).start()
        with monitor.compiling():
            made = planned(file, starting.stop, finishing)
            made = _measured(made, monitor)
            made.plan.warm_up()
        _say(file, made, name)
        with native_stderr_hidden():
            starting.begun()
            renewal.watch(starting.stop.request)
            with closing(renewal), written_by_user(file, made.plans, name):
                _run(file, made, name)
        monitor.require_usable_topics()
    log.info("pipeline %s: stopped, state is written", file.pipeline.name)
    if renewal.decided:
        start_again(starting.asked)


def _measured(made: Planned, monitor: Monitor) -> Planned:
    plan, *others = monitor.observe(made.plans)
    assert isinstance(plan, StreamsPlan | BoundingPlan)
    merge = next((one for one in others if isinstance(one, MergingPlan)), None)
    policies = next((one for one in others if isinstance(one, PoliciesPlan)), None)
    return replace(made, plan=plan, merge=merge, policies=policies)


def _run(file: PipelineFile, made: Planned, name: str) -> None:
    """Run, and begin again after what a new beginning mends, unless that happens all the time."""
    beginnings: deque[float] = deque(maxlen=_MOST_BEGINNINGS)
    while True:
        beginnings.append(time.monotonic())
        try:
            with _Copies(file, made, name) as copies:
                cli_main(dataflow_of(made.plan.name, copies), epoch_interval=EPOCH)
                return
        except Exception as raised:
            error = cause(raised)
            if made.plan.stop.requested and _loses_nothing(made, error):
                log.warning(
                    "%s A stop was requested; what was not committed is aborted, and made again by "
                    "whoever goes on.",
                    error,
                )
                return
            lasted = time.monotonic() - beginnings[0]
            too_often = len(beginnings) == _MOST_BEGINNINGS and lasted < _WITHIN_SECONDS
            final = exit_code(error) == NO_RESTART_HELPS or isinstance(error, ShutOut)
            if final or too_often or made.plan.stop.requested:
                made.plan.stop.request()
                raise error from None
            log.warning("%s What was not committed is aborted. Beginning again.", error)


def _loses_nothing(made: Planned, error: BaseException) -> bool:
    """Return whether a last cut that was refused harms nobody: whoever goes on makes it again.

    Streams that were to be finished are not. Where the group has given nothing away, nobody may go
    on: the last cut is left to the next start, which is a failure of this one.
    """
    return made.plan.finishing is None and isinstance(error, GivenAway)


class _Copies:
    """Make the copies of the workers of one dataflow, and end what bytewax leaves of them."""

    def __init__(self, file: PipelineFile, made: Planned, name: str) -> None:
        self._file, self._made, self._name = file, made, name
        self._copies: list[Copy] = []

    def __call__(self, worker: int, workers: int) -> list[Copy]:
        """Join the group as a worker; the merge is a member of its own."""
        made = self._made
        name = self._name if workers == 1 else f"{self._name}-{worker}"
        copies = [self._copy(made.plan, made.state, name)]
        if made.merge is not None:
            copies.append(self._copy(made.merge, made.state_of(made.merge), merging(name)))
        if made.policies is not None:
            copies.append(self._copy(made.policies, made.state_of(made.policies), changing(name)))
        return copies

    def _copy(self, plan: Plan, state: StateTopic, name: str) -> Copy:
        """Return a copy with a publisher that no other thread uses."""
        publisher = plan.publisher
        pseudonyms = Pseudonyms(publisher.pseudonyms.secret, publisher.pseudonyms.sink)
        plan = replace(plan, publisher=replace(publisher, pseudonyms=pseudonyms))
        section = self._file.pipeline.state
        every = section.every.total_seconds()
        settings = CopySettings(instance=name, every=every, standby=section.standby)
        copy = Copy(plan, self._made.client, state, settings)
        self._copies.append(copy)
        return copy

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for copy in self._copies:
            copy.close()


def copied_flow(file: PipelineFile) -> Dataflow:
    """Return the dataflow for `python -m bytewax.run`, in which every worker is a copy."""
    if os.environ.get(_RECOVERY) or {"-r", "--recovery-directory"} & set(sys.argv):
        raise ConfigurationError(
            "state.store is kafka, so bytewax keeps no state: leave the recovery directory out"
        )
    refuse_by_user(file)
    made = planned(file, StopFlag(), None)
    made.plan.warm_up()
    return dataflow_of(made.plan.name, _Copies(file, made, instance()))


def _say(file: PipelineFile, made: Planned, name: str) -> None:
    pipeline, fingerprint = file.pipeline, made.plan.fingerprint
    sink = (made.merge or made.plan).fingerprint.sink_topic
    log.info(
        "pipeline %s: %s -> %s, copy %s of group %s, %d partitions, %s, state in topic %s every "
        "%g s",
        pipeline.name,
        fingerprint.source_topic,
        sink,
        name,
        identity_of(pipeline.name),
        fingerprint.partitions,
        made.client.name,
        made.state.topic.name,
        pipeline.state.every.total_seconds(),
    )
    log.info("compiled steps: %s", compiled.described())
