"""Supervising a pipeline: who runs what, one owner of its state, one endpoint, one exit code."""

import logging
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import closing

from dataflows.errors import StartRefused, StateInUse
from dataflows.logs import LogFormat
from dataflows.monitoring.refused_starts import RefusedStarts
from dataflows.operator_sections import AggregateOperator
from dataflows.pipeline_file import PipelineFile
from dataflows.state.directory import StateDirectory, all_directories, root_directory
from dataflows.supervisor.child import Child
from dataflows.supervisor.dealing import deal, numbered
from dataflows.supervisor.endpoint import Endpoint
from dataflows.supervisor.grace import GRACE_SECONDS
from dataflows.supervisor.supervisor import keep_running

_PATIENCE_SECONDS = GRACE_SECONDS + 5
"""How long processes of a supervisor that was killed may still hold their shards."""
_TRY_SECONDS = 0.1

log = logging.getLogger(__name__)


def supervise(file: PipelineFile, processes: int, log_format: LogFormat | None) -> int:
    """Run all shards in so many processes until told to stop; returns the exit code."""
    pipeline = file.pipeline
    shards = deal(pipeline.state.shards, processes)
    stop = _StopSignals()
    children = [
        Child(
            f"process {number} ({numbered('shard', own)})", _command(file, number, own, log_format)
        )
        for number, own in enumerate(shards)
    ]
    with closing(Endpoint(file, children)):
        try:
            _own(file, stop)
        except StartRefused as error:
            RefusedStarts(file.resolve(pipeline.state.directory)).count(error)
            raise
        merging = isinstance(pipeline.operator, AggregateOperator)
        return keep_running(
            children, stop.requested, _Announcement(pipeline.name, children, merging)
        )


def _command(
    file: PipelineFile, number: int, shards: Sequence[int], log_format: LogFormat | None
) -> list[str]:
    """With -P, a folder of the user that is called `dataflows` or `operators` is not imported."""
    command = [sys.executable, "-P", "-m", "dataflows", "run", str(file.path)]
    for shard in shards:
        command += ["--shard", f"{shard}/{file.pipeline.state.shards}"]
    if log_format is not None:
        command += ["--log-format", log_format]
    return [*command, "--supervised-as", str(number)]


class _StopSignals:
    """SIGTERM and SIGINT. Processes have sessions of their own, so Ctrl-C reaches only this one."""

    def __init__(self) -> None:
        self._received = False
        for stop_signal in (signal.SIGTERM, signal.SIGINT):
            signal.signal(stop_signal, self._receive)

    def requested(self) -> bool:
        """Whether one came."""
        return self._received

    def _receive(self, *_: object) -> None:
        self._received = True


class _Announcement:
    """Says once, when all processes run, which of them runs which partitions."""

    def __init__(self, pipeline: str, children: Sequence[Child], merging: bool) -> None:
        self._pipeline, self._children, self._merging = pipeline, children, merging
        self._made = False

    def __call__(self) -> None:
        reports = [child.report for child in self._children]
        if self._made or not all(report and report.partitions for report in reports):
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


def _own(file: PipelineFile, stop: _StopSignals) -> None:
    """One supervisor at a time; processes of one that was killed are given time to stop."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    _lock(root_directory(file), deadline, stop)
    for directory in all_directories(file):
        _lock(directory, deadline, stop)
        directory.unlock()


def _lock(directory: StateDirectory, deadline: float, stop: _StopSignals) -> None:
    waiting = False
    while True:
        try:
            return directory.lock()
        except StateInUse:
            if time.monotonic() > deadline or stop.requested():
                raise
        if not waiting:
            waiting = True
            log.info(
                "state directory %s is in use; waiting up to %.0f s for its owner to stop",
                directory.path,
                deadline - time.monotonic(),
            )
        time.sleep(_TRY_SECONDS)
