"""Read changes of policies, and mark in the internal log what they cover by then.

    internal log ──▶ what others tell of their ticks ──▶ asks where the topic of policies ends
         ▲                                                              │
         └───────── mark, behind all changes ◀── has read to there ◀────┘

The merge may be that of another process, which tells nothing. So the owner of the topic of policies
follows the log by itself, and covers every entry there that is not its own: those that complete
ticks are among them. What it reads is committed, so the entry was there before the end was asked
for. The proof of `flows.policy_wait` holds from there on: a mark is written once all changes that
were read are committed. So it is true even where its own transaction is aborted, and somebody who
has seen it there writes a copy.
"""

from collections.abc import Iterable, Mapping

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.copies.intake import Intake, Own, Place
from fugu.dataflows.flows.plan import Plan
from fugu.dataflows.flows.policies import PoliciesPlan
from fugu.dataflows.flows.policy_source import Covering
from fugu.dataflows.flows.policy_wait import PolicyEnd, PolicyWait
from fugu.dataflows.kafka.client import Reader
from fugu.dataflows.kafka.source import ReleaseTimes, StopFlag
from fugu.dataflows.stages.log_entries import COVERED_KEY, POLICIES_KEY, Coverage

_AT_ONCE = 1_000
_PARTITION = 0


class Demand:
    """Follow the internal log from its present end on, and say what can be marked there.

    `end` asks where the topic of policies ends, for the entries that `wait` names, until `stop`.
    """

    def __init__(self, log: Reader, wait: PolicyWait, end: PolicyEnd, stop: StopFlag) -> None:
        self._log, self._wait, self._end, self._stop = log, wait, end, stop
        self._coverage = Coverage()
        begin = log.bounds([_PARTITION])[_PARTITION].end
        log.assign({_PARTITION: begin})
        self._note(begin - 1)
        end.start()

    def covered_by(self, position: int | None) -> int | None:
        """Return an offset of the log that is covered once policies are read up to a position."""
        for batch in self._log.poll(_AT_ONCE):
            told = [
                offset
                for offset, key in zip(batch.offsets, batch.keys, strict=True)
                if key not in (POLICIES_KEY, COVERED_KEY)
            ]
            if told:
                self._note(int(told[-1]))
        covered = self._end.covered_by(lambda: position)
        if covered is not None:
            self._coverage.cover(covered)
            self._wait.note(self._coverage)
        return covered

    def close(self) -> None:
        """Follow nothing any more."""
        self._stop.request()
        self._log.close()
        self._wait.note(Coverage())

    def _note(self, offset: int) -> None:
        """Ask for a mark behind this entry."""
        if offset >= 0:
            self._coverage.complete(offset, offset)
            self._wait.note(self._coverage)


class CoveringIntake(Intake):
    """Read the topic of policies, and follow its batches with marks."""

    def __init__(self, plan: PoliciesPlan, reader: Reader, times: ReleaseTimes) -> None:
        topic = plan.fingerprint.source_topic
        super().__init__(topic, reader, plan.max_batch, plan.is_ready, plan.metrics, times)
        self._policies = plan
        self._demand: Demand | None = None

    def assign(self, owned: Iterable[Place]) -> None:
        """Read from a position on; marks are made as long as the topic is owned."""
        places = [*owned]
        super().assign(places)
        self._end_demand()
        if places:
            plan, stop = self._policies, StopFlag()
            log = plan.client.reader(plan.fingerprint.sink_topic)
            self._demand = Demand(log, plan.wait, plan.end(stop), stop)

    def next(self, owned: Mapping[int, Own]) -> list[tuple[Own, Batch]]:
        """Return what has arrived, and before it a mark behind what arrived earlier.

        A mark behind changes in one transaction would be a lie if it is copied, and they never
        count. So it comes right after a cut, and more changes may follow it, however many arrive.
        """
        marked = list[tuple[Own, Batch]]()
        if self._demand is not None and self._is_committed(owned):
            covers = self._demand.covered_by(self._reader.position(_PARTITION))
            if covers is not None:
                mark = Covering(_PARTITION, [], [], [], [], [], covers=covers)
                marked.append((owned[_PARTITION], mark))
        return [*marked, *super().next(owned)]

    @staticmethod
    def _is_committed(owned: Mapping[int, Own]) -> bool:
        """Return whether every change that was read is committed."""
        return _PARTITION in owned and not owned[_PARTITION].touched

    def close(self) -> None:
        super().close()
        self._end_demand()

    def _end_demand(self) -> None:
        if self._demand is not None:
            self._demand.close()
            self._demand = None


def intake_of(plan: Plan, reader: Reader, times: ReleaseTimes) -> Intake:
    """Return what reads the source of a plan."""
    if isinstance(plan, PoliciesPlan):
        return CoveringIntake(plan, reader, times)
    topic = plan.fingerprint.source_topic
    return Intake(topic, reader, plan.max_batch, plan.is_ready, plan.metrics, times)
