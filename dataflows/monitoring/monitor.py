"""Measure one process and judge its health, and count the starts that a state refused."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Self, cast

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.base.metrics import BUILD, REFUSED_STARTS, Metrics
from fugu.dataflows.copies.by_user import group_by_user
from fugu.dataflows.flows.added_partitions import added_partitions
from fugu.dataflows.flows.asking import AskingPlan
from fugu.dataflows.flows.log_reading import LogPlan
from fugu.dataflows.flows.merging import MergingPlan
from fugu.dataflows.flows.partitions import PartitionsPlan
from fugu.dataflows.flows.plan import Plan
from fugu.dataflows.flows.policies import PoliciesPlan
from fugu.dataflows.kafka.client import CopyClient, identity_of
from fugu.dataflows.monitoring.figures_wait import FiguresWait, PoliciesBehind, TicksWait, UsersWait
from fugu.dataflows.monitoring.group_watch import Dealt, GroupWatch
from fugu.dataflows.monitoring.health import Health, Report, Snapshots, Watchman
from fugu.dataflows.monitoring.notices import (
    Budgets,
    ClocksAhead,
    ForeignEntries,
    RefusedShare,
    RegistryAway,
    Sentinel,
    StreamsLimit,
    StreamTimes,
    TimeUnits,
)
from fugu.dataflows.monitoring.server import serve
from fugu.dataflows.monitoring.source_watch import SourceWatch, TopicsWatch
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.source_section import TimestampField
from fugu.dataflows.pipeline.topics import compaction_problem
from fugu.dataflows.records.registered import Registered
from fugu.dataflows.state.state_topic import StateTopic
from fugu.operators import compiled
from fugu.operators.compiled import folders

_FILE = "refused-starts"


@dataclass(frozen=True)
class RefusedStarts:
    """Keep the count in one state directory; where there is none, nobody counts.

    The file has one byte for each refusal, and is beside the shards. Appending a byte needs no
    lock, so a process that was refused because another one owns the state may count, too: the owner
    then shows it.
    """

    directory: Path | None

    @classmethod
    def of(cls, file: PipelineFile) -> "RefusedStarts":
        """Return the count of a pipeline."""
        state = file.pipeline.state
        return cls(None if state.in_kafka else file.resolve(state.directory))

    def count(self, error: BaseException | None) -> None:
        """Count a refusal; where it cannot be written down, the text of the refusal is enough."""
        if not isinstance(error, StartRefused) or self.directory is None:
            return
        with suppress(OSError):
            path = self.directory / _FILE
            descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(b".")

    def total(self) -> int:
        """Return the count so far."""
        if self.directory is None:
            return 0
        try:
            return (self.directory / _FILE).stat().st_size
        except OSError:
            return 0


class Monitor:
    """Count refused starts and watch the pipeline always; listen if the file says `metrics`.

    A supervised process reports instead of listening.
    """

    def __init__(self, file: PipelineFile, *, supervised: bool) -> None:
        pipeline = file.pipeline
        self._file = file
        self._metrics = Metrics(pipeline=pipeline.name, show_streams=pipeline.tells_streams)
        self._watchman = Watchman(self._metrics)
        snapshots = Snapshots(self._metrics, pipeline.state.every.total_seconds())
        self._health = health = Health(snapshots, self._watchman)
        self._watches: Sequence[TopicsWatch | SourceWatch | GroupWatch] = ()
        self._refused = RefusedStarts.of(file)
        endpoint = None if supervised else pipeline.metrics
        self._server = serve(
            endpoint,
            self.numbers,
            health.problem,
            health.stuck,
            health.degraded,
            health.waiting,
        )
        self._partitions: list[int] = []

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Say, until all is built, that the start compiles, where no code is kept yet."""
        self._health.compiling = compiled.available() and folders.warm() is None
        try:
            yield
        finally:
            self._health.compiling = False

    def observe(self, plans: list[Plan]) -> list[Plan]:
        """Return the same plans, which from now on are measured."""
        self._partitions = sorted(
            partition
            for plan in plans
            if plan.reads_source
            for partition in plan.fingerprint.own_partitions
        )
        self._metrics.put(
            BUILD,
            1,
            version("fugu-streams"),
            python_version(),
            plans[0].client.name,
            plans[0].fingerprint.operator,
            plans[0].fingerprint.implementation,
        )
        topics, source = self._topics_watch(plans), _source_watch(plans[0], self._metrics)
        origin = plans[0].fingerprint.origin_topic
        origins = [_source_watch(plans[0], self._metrics, origin)] if origin else []
        groups = self._group_watch(plans)
        self._watches = topics, source, *origins, groups
        for watch in self._watches:
            watch.start()
        self._watchman.start([topics, *origins, *self._sentinels(plans, source), groups])
        self._health.stop = plans[0].stop
        return [replace(plan, metrics=self._metrics) for plan in plans]

    def require_usable_topics(self) -> None:
        """Raise `StartRefused` if the pipeline was stopped because of what its topics are now."""
        for watch in self._watches:
            if isinstance(watch, TopicsWatch) and watch.refusal is not None:
                raise watch.refusal

    def report(self) -> Report:
        """Return what the supervisor is told."""
        health = self._health
        return Report(
            self._partitions,
            self._metrics.numbers(),
            health.problem(),
            health.stuck(),
            health.degraded(),
            health.waiting(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        self._refused.count(error)
        self._watchman.stop()
        for watch in self._watches:
            watch.stop()
        if self._server:
            self._server.close()

    def _topics_watch(self, plans: list[Plan]) -> TopicsWatch:
        first = plans[0].fingerprint
        same = {
            frozenset(plan.fingerprint.identities.items()): plan.as_at_the_start(seconds=0.0)
            for plan in plans
        }
        return TopicsWatch(
            plans[0].client,
            first.source_topic,
            [*same.values()],
            lambda source: added_partitions(self._file, source, first.partitions),
            lambda topic: compaction_problem(self._file.pipeline, topic),
            plans[0].stop.request,
        )

    def _group_watch(self, plans: list[Plan]) -> GroupWatch:
        pipeline, dealt, first = self._file.pipeline, list[Dealt](), plans[0]
        if pipeline.state.in_kafka:
            group = identity_of(pipeline.name)
            stored = [plan.fingerprint for plan in plans]
            dealt += [Dealt(one.source_topic, group, one.partitions) for one in stored]
        if pipeline.source.is_repartitioned and first.finishing is None:
            origin = first.fingerprint.origin_topic
            dealt.append(Dealt(origin, group_by_user(pipeline.name), None))
        return GroupWatch(
            dealt, self._metrics.standing, lambda: cast(CopyClient, first.client).groups()
        )

    def _sentinels(self, plans: list[Plan], watch: SourceWatch) -> list[Sentinel]:
        alert, metrics, topic = self._file.pipeline.alert, self._metrics, watch.topic
        sentinels: list[Sentinel] = [self._health.snapshots, watch]
        for plan in plans:
            if isinstance(plan, MergingPlan) and plan.wait is not None:
                sentinels.append(PoliciesBehind(plan.wait))
            if isinstance(plan, PoliciesPlan) and isinstance(plan.home, StateTopic):
                sentinels.append(PoliciesBehind(plan.wait))  # the merge may be another copy's
            if isinstance(plan, LogPlan):
                sentinels.append(FiguresWait(topic, metrics.standing, plan.ticks))
                sentinels.append(ForeignEntries(plan.fingerprint.source_topic, metrics))
            if isinstance(plan, PartitionsPlan) and isinstance(plan.codec.wire, Registered):
                sentinels.append(RegistryAway(topic, plan.codec.wire.schemas))
            if isinstance(plan, AskingPlan):
                sentinels.append(UsersWait(topic, plan.gate))
        ticks, budget = self._file.pipeline.operator.in_ticks(), self._file.pipeline.budget
        if ticks is not None:
            sentinels.append(TicksWait(topic, metrics.standing, ticks))
            sentinels.append(StreamTimes(topic, metrics.standing, alert.ahead, ticks.time))
        if budget is not None:
            sentinels.append(Budgets(topic, metrics, alert.spent, budget.when_exhausted))
        timestamp = self._file.pipeline.source.timestamp
        if isinstance(timestamp, TimestampField):
            units = TimeUnits(topic, metrics.standing, timestamp.field, timestamp.format)
            sentinels.append(units)
            if ticks is not None:
                clocks = ClocksAhead(topic, metrics.standing, timestamp.field, ticks.time)
                sentinels.append(clocks)
        return [
            *sentinels,
            StreamsLimit(topic, metrics),
            RefusedShare(topic, metrics, alert.refused, alert.over),
        ]

    def numbers(self) -> Metrics:
        """Return what is measured now."""
        self._metrics.put(REFUSED_STARTS, self._refused.total())
        return self._metrics


def _source_watch(first: Plan, metrics: Metrics, topic: str | None = None) -> SourceWatch:
    """Return what watches the topic that is read, or the one that is written by user."""
    topic, client = topic or first.fingerprint.source_topic, first.client
    return SourceWatch(topic, metrics, lambda committed: client.reader(topic, committed=committed))
