"""Measure one process, from before it reads anything, and judge its health."""

from dataclasses import replace
from typing import Self

from fugu.dataflows.base.metrics import REFUSED_STARTS, Metrics
from fugu.dataflows.flows.merging import MergingPlan
from fugu.dataflows.flows.plan import Plan
from fugu.dataflows.monitoring.health import Health
from fugu.dataflows.monitoring.refused_starts import RefusedStarts
from fugu.dataflows.monitoring.report import Report
from fugu.dataflows.monitoring.server import serve
from fugu.dataflows.monitoring.source_watch import SourceWatch
from fugu.dataflows.pipeline.pipeline_file import PipelineFile


class Monitor:
    """Count refused starts always; watch the source and listen if the file says `metrics`.

    A supervised process reports instead of listening.
    """

    def __init__(self, file: PipelineFile, *, supervised: bool) -> None:
        pipeline = file.pipeline
        self._metrics = Metrics(show_streams=pipeline.sink.key != "none")
        self._health = Health(self._metrics, pipeline.state.every.total_seconds())
        self._refused = RefusedStarts(file.resolve(pipeline.state.directory))
        self._measuring = pipeline.metrics is not None
        endpoint = None if supervised else pipeline.metrics
        self._server = serve(endpoint, self._numbers, self._health.problem, self._health.stuck)
        self._partitions: list[int] = []

    def observe(self, plans: list[Plan]) -> list[Plan]:
        """Return the same plans, which from now on are measured."""
        first = plans[0]
        self._partitions = sorted(
            partition
            for plan in plans
            if plan.reads_source
            for partition in plan.fingerprint.own_partitions
        )
        if self._measuring:
            topic, client = first.fingerprint.source_topic, first.client
            watch = SourceWatch(topic, self._metrics, lambda: client.reader(topic))
            watch.start()
            self._health.watch, self._health.stop = watch, first.stop
            waits = [plan.wait for plan in plans if isinstance(plan, MergingPlan)]
            self._health.policies = next(iter(waits), None)
        return [replace(plan, metrics=self._metrics) for plan in plans]

    def report(self) -> Report:
        """Return what the supervisor is told."""
        problem, stuck = self._health.problem(), self._health.stuck()
        return Report(self._partitions, self._metrics.numbers(), problem, stuck)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        self._refused.count(error)
        if self._health.watch:
            self._health.watch.stop()
        if self._server:
            self._server.close()

    def _numbers(self) -> Metrics:
        self._metrics.put(REFUSED_STARTS, self._refused.total())
        return self._metrics
