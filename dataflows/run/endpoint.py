"""Serve one `/metrics`, `/healthz` and `/livez` for all processes of a pipeline."""

import time
from collections.abc import Callable, Sequence

from fugu.dataflows.base.metrics import PROCESS_RESTARTS, REFUSED_STARTS, START_TIME, Metrics
from fugu.dataflows.monitoring.monitor import RefusedStarts
from fugu.dataflows.monitoring.server import serve
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.run.child import Child


class Endpoint:
    """Listen if the file says `metrics`, and show the numbers of the last reports, added up."""

    def __init__(self, file: PipelineFile, children: Sequence[Child]) -> None:
        pipeline = file.pipeline
        self._children = children
        self._pipeline = pipeline.name
        self._show_streams = pipeline.tells_streams
        self._refused = RefusedStarts.of(file)
        self._started_at = time.time()
        self._server = serve(
            pipeline.metrics,
            self.numbers,
            lambda: self._of_all(Child.problem),
            lambda: self._of_all(Child.stuck),
            lambda: self._texts(Child.degraded),
            lambda: self._texts(Child.waiting),
        )

    def close(self) -> None:
        """Answer no more."""
        if self._server:
            self._server.close()

    def numbers(self) -> Metrics:
        """Return what all processes measure together."""
        metrics = Metrics(pipeline=self._pipeline, show_streams=self._show_streams)
        for report in [child.report for child in self._children]:
            if report is not None:
                metrics.include(report.numbers)
        metrics.put(START_TIME, self._started_at)
        metrics.put(REFUSED_STARTS, self._refused.total())
        metrics.put(PROCESS_RESTARTS, sum(child.restarts for child in self._children))
        return metrics

    def _texts(self, texts_of: Callable[[Child], list[str]]) -> list[str]:
        return [f"{child.name}: {one}" for child in self._children for one in texts_of(child)]

    def _of_all(self, problem_of: Callable[[Child], str | None]) -> str | None:
        problems = [
            f"{child.name}: {problem}"
            for child in self._children
            if (problem := problem_of(child)) is not None
        ]
        return "; ".join(problems) or None
