"""Tell the reader of policies what the merge waits for, and health that it waits.

    merge ──▶ waits for an offset of the log ──▶ asks where the topic of policies ends
      ▲                                                         │
      └── internal log ◀── mark, behind all changes ◀── has read to there

Claim. When a tick is released, the mechanism has been told every change that Kafka acknowledged, in
the topic of policies, before the entry was written with which the tick was complete.

Proof. The merge has read that entry when it waits for its offset, and the end is asked for after
that: the change stands before the end. An open transaction in front of it delays the mark, and
hides nothing, since the end counts what is not committed. The reader gives out all records before
the end, and then `Covering`; dataflow and sink keep this order. The sink writes the mark once
everything before it is acknowledged, so that no change which failed follows its mark; and a change
that a replay skips was found in the log. So the change stands in the log before the mark, and the
merge, which releases behind marks (`stages.log_entries`), tells it first.

This is about one mark and the process that wrote it. Another process that was taken for dead, a
mark that comes late, twice, or never, and an offset that is asked for again after a restart, make a
tick wait for longer or shorter, and never too short. When a mark is written, a clock has decided;
a replay does not ask again, because the merge knows of marks from the log alone.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event, Thread

from fugu.dataflows.base.errors import OVER_NEW_RECORDS
from fugu.dataflows.base.metrics import POLICY_WAIT, Metrics
from fugu.dataflows.kafka.client import Reader
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.stages.log_entries import Coverage

LONG_SECONDS = 10.0
"""A wait that is worth saying."""
_LOOK_SECONDS = 1.0
_READING = "which is being read"


@dataclass
class PolicyWait:
    """Hold what complete ticks wait for: an entry of the log, to be covered by a topic."""

    topic: str
    offset: int | None = None
    """The newest entry that completed ticks and is not covered; None: nothing waits."""
    asked: Event = field(default_factory=Event, repr=False)
    reason: str = _READING
    _oldest: tuple[int, float] | None = None

    def note(self, coverage: Coverage) -> None:
        """Take in what the merge waits for now."""
        waiting = coverage.waiting
        if not waiting:
            self.offset = self._oldest = None
            return
        oldest, _ = waiting[0]
        if self._oldest is None or self._oldest[0] != oldest:
            self._oldest = oldest, time.monotonic()
        self.offset, _ = waiting[-1]
        self.asked.set()

    @property
    def seconds(self) -> float:
        """Return how long the oldest entry has waited; 0: nothing waits."""
        oldest = self._oldest
        return 0.0 if oldest is None else time.monotonic() - oldest[1]

    def problem(self) -> str | None:
        """Return what to say of a long wait."""
        seconds = self.seconds
        if seconds < LONG_SECONDS:
            return None
        return (
            f"figures have waited for {seconds:.0f} s for topic {self.topic} (source.policies), "
            f"{self.reason}"
        )


class PolicyEnd:
    """Ask where the topic of policies ends, whenever the merge waits, on a thread of its own.

    A dataflow never waits for the answer, not even when Kafka is away. The end counts what an open
    transaction has written: it may be a change, and holds up those behind it. Where the topic ends
    before what was read, it was cut off, and what it holds now is not known. `is_same` tells
    whether it is still the topic that is read: if it was deleted and created again, its end says
    nothing about what was read. It is asked after the end, since no topic comes back.
    """

    def __init__(
        self,
        wait: PolicyWait,
        metrics: Metrics,
        stop: StopFlag,
        connect: Callable[[], Reader],
        is_same: Callable[[], bool],
    ) -> None:
        self._wait, self._metrics, self._stop, self._connect = wait, metrics, stop, connect
        self._is_same = is_same
        self._reader: Reader | None = None
        self._answer: tuple[int, int] | None = None
        """An offset of the log, and where the topic ended after it."""
        self._covered = -1
        self._position = 0

    def start(self) -> None:
        """Begin to ask."""
        Thread(target=self._run, name="policy-end", daemon=True).start()

    def covered_by(self, position: Callable[[], int | None]) -> int | None:
        """Return the offset of the log that is covered now, where reading stands; once for each."""
        if (at := position()) is not None:
            self._position = at
        if self._answer is None:
            return None
        offset, end = self._answer
        if at is None or at < end:
            self._wait.reason = f"of which {end - (at or 0)} offsets are not read"
            return None
        self._covered, self._answer = offset, None
        self._wait.reason = _READING
        self._wait.asked.set()
        return offset

    def _run(self) -> None:
        while not self._stop.requested:
            self._wait.asked.wait(_LOOK_SECONDS)
            self._wait.asked.clear()
            offset = self._wait.offset
            if self._answer is None and offset is not None and offset > self._covered:
                self._ask(offset)
            self._metrics.put(POLICY_WAIT, self._wait.seconds, self._wait.topic)
        if self._reader is not None:
            self._reader.close()

    def _ask(self, offset: int) -> None:
        try:
            self._reader, read = self._reader or self._connect(), self._position
            end = self._reader.bounds([0])[0].end
            if not self._is_same():
                self._wait.reason = (
                    "which was deleted and created again: bring the old topic back, and the "
                    "pipeline goes on with all budgets; or " + OVER_NEW_RECORDS
                )
            elif end < read:
                self._wait.reason = f"which ends {read - end} offsets before what was read of it"
            else:
                self._answer = offset, end
        except Exception:  # whatever it is: the wait is said, and a mark is never made without
            self._wait.reason = "which does not say where it ends"
