"""Metrics and health of one process: made before anything is read, served where a port is given.

/metrics    the numbers
/healthz    200 while the pipeline does its work, 503 and the reason otherwise: readiness, alerts
/livez      503 only when a restart would help, which Kafka's absence is not: liveness
"""

from dataclasses import replace
from typing import Self

from prometheus_client import CONTENT_TYPE_LATEST

from fugu.dataflows.base.metrics import REFUSED_STARTS, Metrics
from fugu.dataflows.flows.plan import Plan
from fugu.dataflows.monitoring.health import Health
from fugu.dataflows.monitoring.refused_starts import RefusedStarts
from fugu.dataflows.monitoring.report import Report
from fugu.dataflows.monitoring.server import MetricsServer, Page, verdict
from fugu.dataflows.monitoring.source_watch import SourceWatch
from fugu.dataflows.pipeline.pipeline_file import PipelineFile


class Monitor:
    """Counts refused starts always; watches the source and listens if the file says `metrics`.

    A supervised process reports instead of listening.
    """

    def __init__(self, file: PipelineFile, *, supervised: bool) -> None:
        pipeline = file.pipeline
        self._metrics = Metrics(show_streams=pipeline.sink.key != "none")
        self._health = Health(self._metrics, pipeline.state.every.total_seconds())
        self._refused = RefusedStarts(file.resolve(pipeline.state.directory))
        pages = {"/metrics": self._numbers, "/healthz": self._healthy, "/livez": self._alive}
        self._endpoint = endpoint = pipeline.metrics
        self._server: MetricsServer | None = None
        if endpoint and not supervised:
            self._server = MetricsServer(endpoint.host, endpoint.port, pages)
        self._partitions: list[int] = []

    def observe(self, plans: list[Plan]) -> list[Plan]:
        """The same plans, which from now on are measured."""
        first = plans[0]
        self._partitions = sorted(
            partition
            for plan in plans
            if plan.reads_source
            for partition in plan.fingerprint.own_partitions
        )
        if self._endpoint:
            topic, client = first.fingerprint.source_topic, first.client
            watch = SourceWatch(topic, self._metrics, lambda: client.reader(topic))
            watch.start()
            self._health.watch, self._health.stop = watch, first.stop
        return [replace(plan, metrics=self._metrics) for plan in plans]

    def report(self) -> Report:
        """For the supervisor."""
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

    def _numbers(self) -> Page:
        self._metrics.put(REFUSED_STARTS, self._refused.total())
        return Page(200, CONTENT_TYPE_LATEST, self._metrics.text())

    def _healthy(self) -> Page:
        return verdict(self._health.problem())

    def _alive(self) -> Page:
        return verdict(self._health.stuck())
