"""Supervise a pipeline: who runs what, one owner of its state, one endpoint, one exit code."""

import logging
import sys
from collections.abc import Sequence
from contextlib import closing

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.base.logs import LogFormat
from fugu.dataflows.flows.sections import is_merged
from fugu.dataflows.monitoring.monitor import RefusedStarts
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.run.child import Child
from fugu.dataflows.run.dealing import dealt, numbered
from fugu.dataflows.run.endpoint import Endpoint
from fugu.dataflows.run.following import Following
from fugu.dataflows.run.ownership import own
from fugu.dataflows.run.stopping import start_again, stop_on_signals
from fugu.dataflows.run.supervisor import keep_running

log = logging.getLogger(__name__)


def supervise(file: PipelineFile, processes: int, log_format: LogFormat | None) -> int:
    """Run all shards in so many processes until told to stop; return the exit code.

    Processes have sessions of their own, so Ctrl-C reaches only this one.
    """
    pipeline = file.pipeline
    shares = dealt(pipeline, processes)
    stop = stop_on_signals()
    children = [_child(file, number, shards, log_format) for number, shards in enumerate(shares)]
    following = Following(file, pipeline.source.partitions == "follow")
    with closing(Endpoint(file, children)) as endpoint, closing(following):
        following.at_start()
        try:
            if not pipeline.state.in_kafka:
                own(file, lambda: stop.requested)
        except StartRefused as error:
            RefusedStarts.of(file).count(error)
            raise
        merging = is_merged(pipeline)
        announcement = _Announcement(pipeline.name, children, merging, pipeline.state.in_kafka)
        following.watch(endpoint.numbers, lambda: None)
        code = keep_running(children, lambda: stop.requested or following.decided, announcement)
    if following.decided and code == 0:
        start_again(stop)
    return code


def _child(
    file: PipelineFile, number: int, shards: list[int], log_format: LogFormat | None
) -> Child:
    """Return a process that runs shards. With -P, a folder of the user's that is called `dataflows`
    or `operators` is not imported."""
    command = [sys.executable, "-P", "-m", "fugu", "run", str(file.path)]
    for shard in shards:
        command += ["--shard", f"{shard}/{file.pipeline.state.shards}"]
    if log_format is not None:
        command += ["--log-format", log_format]
    command += ["--supervised-as", str(number)]
    what = numbered("shard", shards) if shards else "copy"
    return Child(f"process {number} ({what})", command)


class _Announcement:
    """Say once, when all processes run, which of them runs which partitions.

    Copies of a pipeline whose state is in Kafka say so themselves, whenever it changes.
    """

    def __init__(
        self, pipeline: str, children: Sequence[Child], merging: bool, in_kafka: bool
    ) -> None:
        self._in_kafka = in_kafka
        self._pipeline, self._children, self._merging = pipeline, children, merging
        self._made = False

    def __call__(self) -> None:
        reports = [child.report for child in self._children]
        if (
            self._in_kafka
            or self._made
            or not all(report and report.partitions for report in reports)
        ):
            return
        self._made = True
        runs = [
            f"process {number} runs {numbered('partition', report.partitions)}"
            for number, report in enumerate(reports)
            if report is not None
        ]
        if self._merging:
            runs[0] += " and merges"
        log.info("pipeline %s: %s", self._pipeline, "; ".join(runs))
