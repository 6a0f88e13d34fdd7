"""Judge whether the pipeline does its work: snapshots are made and the source is read."""

import time
from dataclasses import dataclass

from fugu.dataflows.base.metrics import SNAPSHOT_AGE, Metrics
from fugu.dataflows.flows.policy_wait import PolicyWait
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.monitoring.source_watch import SourceWatch

_SNAPSHOTS_MISSED = 10
_SNAPSHOT_SECONDS = 10.0
_ANSWER_SECONDS = 10.0
_WAITING_SECONDS = 30.0
_STUCK_SECONDS = 300.0
"""Longer than any wait for Kafka, after which the process ends by itself."""


@dataclass
class Health:
    """Judge one process; `every` is the time between two snapshots, in seconds."""

    metrics: Metrics
    every: float
    watch: SourceWatch | None = None
    stop: StopFlag | None = None
    policies: PolicyWait | None = None

    def problem(self) -> str | None:
        """Return why no work is done now, in one line of coordinates and times; None if all is
        well."""
        if self.watch is None or self.stop is None or self._age is None:
            return "starting"
        if self.stop.requested:
            return "stopping"
        if self._age > self._longest_age:
            return f"no snapshot for {self._age:.0f} s"
        now = time.monotonic()
        unanswered = now - self.watch.answered_at
        if unanswered > _ANSWER_SECONDS:
            return f"Kafka has not answered for {unanswered:.0f} s"
        for partition, since in sorted(dict(self.watch.waiting_since).items()):
            if now - since > _WAITING_SECONDS:
                return (
                    f"topic {self.watch.topic}, partition {partition}: records wait, and none was "
                    f"read for {now - since:.0f} s"
                )
        return None if self.policies is None else self.policies.problem()

    def stuck(self) -> str | None:
        """Return why a restart would help; None if it would not."""
        if self._age is None or self._age <= self._longest_age + _STUCK_SECONDS:
            return None
        return f"no snapshot for {self._age:.0f} s"

    @property
    def _age(self) -> float | None:
        return max(self.metrics.values(SNAPSHOT_AGE).values(), default=None)

    @property
    def _longest_age(self) -> float:
        return max(_SNAPSHOTS_MISSED * self.every, _SNAPSHOT_SECONDS)
