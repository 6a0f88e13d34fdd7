"""One `/metrics`, `/healthz` and `/livez` for all processes of a pipeline."""

import time
from collections.abc import Callable, Sequence

from prometheus_client import CONTENT_TYPE_LATEST

from fugu.dataflows.base.metrics import PROCESS_RESTARTS, REFUSED_STARTS, START_TIME, Metrics
from fugu.dataflows.monitoring.refused_starts import RefusedStarts
from fugu.dataflows.monitoring.server import MetricsServer, Page, verdict
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.run.child import Child


class Endpoint:
    """Listens if the file says `metrics`. Numbers are those of the last reports, added up."""

    def __init__(self, file: PipelineFile, children: Sequence[Child]) -> None:
        pipeline = file.pipeline
        self._children = children
        self._show_streams = pipeline.sink.key != "none"
        self._refused = RefusedStarts(file.resolve(pipeline.state.directory))
        self._started_at = time.time()
        endpoint = pipeline.metrics
        pages = {
            "/metrics": self._numbers,
            "/healthz": lambda: self._verdict(Child.problem),
            "/livez": lambda: self._verdict(Child.stuck),
        }
        self._server = endpoint and MetricsServer(endpoint.host, endpoint.port, pages)

    def close(self) -> None:
        """Answer no more."""
        if self._server:
            self._server.close()

    def _numbers(self) -> Page:
        metrics = Metrics(show_streams=self._show_streams)
        for report in [child.report for child in self._children]:
            if report is not None:
                metrics.include(report.numbers)
        metrics.put(START_TIME, self._started_at)
        metrics.put(REFUSED_STARTS, self._refused.total())
        metrics.put(PROCESS_RESTARTS, sum(child.restarts for child in self._children))
        return Page(200, CONTENT_TYPE_LATEST, metrics.text())

    def _verdict(self, problem_of: Callable[[Child], str | None]) -> Page:
        problems = [
            f"{child.name}: {problem}"
            for child in self._children
            if (problem := problem_of(child)) is not None
        ]
        return verdict("; ".join(problems) or None)
