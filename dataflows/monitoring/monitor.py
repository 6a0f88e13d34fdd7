"""Measure one process, from before it reads anything, and judge its health."""

from dataclasses import replace
from importlib.metadata import version
from platform import python_version
from typing import Self

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.base.metrics import BUILD, REFUSED_STARTS, Metrics
from fugu.dataflows.flows.added_partitions import added_partitions
from fugu.dataflows.flows.merging import MergingPlan
from fugu.dataflows.flows.plan import Plan
from fugu.dataflows.monitoring.budgets import Budgets
from fugu.dataflows.monitoring.figures import FiguresWait, PoliciesBehind
from fugu.dataflows.monitoring.health import Health, Snapshots
from fugu.dataflows.monitoring.notices import Sentinel
from fugu.dataflows.monitoring.refused_share import RefusedShare
from fugu.dataflows.monitoring.refused_starts import RefusedStarts
from fugu.dataflows.monitoring.report import Report
from fugu.dataflows.monitoring.server import serve
from fugu.dataflows.monitoring.source_watch import SourceWatch
from fugu.dataflows.monitoring.stream_times import StreamTimes
from fugu.dataflows.monitoring.streams_limit import StreamsLimit
from fugu.dataflows.monitoring.time_units import TimeUnits
from fugu.dataflows.monitoring.watchman import Watchman
from fugu.dataflows.pipeline.config import TimestampField
from fugu.dataflows.pipeline.pipeline_file import PipelineFile


class Monitor:
    """Count refused starts and watch the pipeline always; listen if the file says `metrics`.

    A supervised process reports instead of listening.
    """

    def __init__(self, file: PipelineFile, *, supervised: bool) -> None:
        pipeline = file.pipeline
        self._file = file
        self._metrics = Metrics(pipeline=pipeline.name, show_streams=pipeline.sink.key != "none")
        self._watchman = Watchman(self._metrics)
        snapshots = Snapshots(self._metrics, pipeline.state.every.total_seconds())
        self._health = health = Health(snapshots, self._watchman)
        self._watch: SourceWatch | None = None
        self._refused = RefusedStarts(file.resolve(pipeline.state.directory))
        endpoint = None if supervised else pipeline.metrics
        self._server = serve(endpoint, self._numbers, health.problem, health.stuck, health.degraded)
        self._partitions: list[int] = []

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
        self._watch = self._source_watch(plans[0])
        self._watch.start()
        self._watchman.start(self._sentinels(plans, self._watch))
        self._health.stop = plans[0].stop
        return [replace(plan, metrics=self._metrics) for plan in plans]

    def report(self) -> Report:
        """Return what the supervisor is told."""
        health = self._health
        return Report(
            self._partitions,
            self._metrics.numbers(),
            health.problem(),
            health.stuck(),
            health.degraded(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        self._refused.count(error)
        self._watchman.stop()
        if self._watch:
            self._watch.stop()
        if self._server:
            self._server.close()

    def _source_watch(self, first: Plan) -> SourceWatch:
        topic, client = first.fingerprint.source_topic, first.client
        known = first.fingerprint.partitions

        def added() -> str | None:
            source = client.topic(topic)
            try:
                return None if source is None else added_partitions(self._file, source, known)
            except StartRefused as refusal:
                return str(refusal)

        return SourceWatch(
            topic, self._metrics, lambda committed: client.reader(topic, committed=committed), added
        )

    def _sentinels(self, plans: list[Plan], watch: SourceWatch) -> list[Sentinel]:
        alert, metrics, topic = self._file.pipeline.alert, self._metrics, watch.topic
        sentinels: list[Sentinel] = [self._health.snapshots, watch]
        for plan in plans:
            if isinstance(plan, MergingPlan):
                if plan.wait is not None:
                    sentinels.append(PoliciesBehind(plan.wait))
                sentinels.append(FiguresWait(topic, metrics.standing, plan.ticks))
        budget = self._file.pipeline.budget
        if budget is not None:
            sentinels.append(Budgets(topic, metrics, alert.spent, budget.when_exhausted))
        timestamp = self._file.pipeline.source.timestamp
        if isinstance(timestamp, TimestampField):
            units = TimeUnits(topic, metrics.standing, timestamp.field, timestamp.format)
            sentinels.append(units)
        return [
            *sentinels,
            StreamTimes(topic, metrics.standing, alert.ahead),
            StreamsLimit(topic, metrics),
            RefusedShare(topic, metrics, alert.refused, alert.over),
        ]

    def _numbers(self) -> Metrics:
        self._metrics.put(REFUSED_STARTS, self._refused.total())
        return self._metrics
