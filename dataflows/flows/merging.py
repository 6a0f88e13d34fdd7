"""Merge partial sums to releases: the second dataflow of an aggregate, which has one owner.

    internal log ──▶ read ──▶ merge ──▶ releases ──▶ sink
                                   ├──▶ plans ──▶ internal log     (of mechanisms that make plans)
                                   └──▶ asking ──▶ internal log    (of those that ask their users)

A plan stands in the log behind what the merge had read when it made it. It is used if none of its
ticks is released before; nothing waits for one, so a merge that has much to catch up on does so
without plans. What users are asked at the next tick stands there, too, and is awaited: by those who
sum their reports.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from bytewax.operators import StatefulBatchLogic

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.metrics import RELEASES_LEFT, Metrics, Standing
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.flows.log_reading import Entries, LogPlan
from fugu.dataflows.flows.merger import Merged, Merger, Show, TickReleases
from fugu.dataflows.flows.own_entries import say_repeated
from fugu.dataflows.flows.plan import Output
from fugu.dataflows.flows.policy_wait import PolicyWait
from fugu.dataflows.kafka.sink import Shared
from fugu.dataflows.policies.changes import Clocks
from fugu.dataflows.publishing.envelope import Publisher, nothing_in
from fugu.dataflows.records.contributions import Figures
from fugu.dataflows.stages.log_entries import ASKING_KEY, PLANS_KEY
from fugu.dataflows.stages.merging import MergeState, Merging, OpenTicks
from fugu.dataflows.state.row_log import BlockLog
from fugu.operators.columns import IntegerColumn
from fugu.operators.ldp_ids.reporting import CollectingMechanism
from fugu.operators.mechanism import (
    FiniteMechanism,
    Kind,
    PlanningMechanism,
    State,
)

_SUMS = "sums"
"""Names the logs of sums of ticks that are not complete."""


@dataclass(frozen=True, kw_only=True)
class MergingPlan(LogPlan[Merged]):
    """Hold the plan of the merge of partial sums."""

    merge: Merging
    figures: Figures
    wait: PolicyWait | None = None
    """Says what the merge waits for, where policies change while the pipeline runs."""
    clocks: Clocks | None = None
    """Tell when the clocks change that policies go by."""
    noise: Callable[[Metrics], Show] | None = None
    """Makes what shows the noise that policies ask for."""

    kept: ClassVar[str] = _SUMS

    def step(self) -> Callable[[bytes | None], "MergeStep"]:
        """Return what makes the merge from its snapshot."""
        topic, rows = self.fingerprint.source_topic, self.directory.rows
        return partial(MergeStep, self.merge, topic, rows, **self._beside())

    def merger(self, state: MergeState) -> Merger:
        """Return what merges into a state that is kept elsewhere."""
        return Merger(self.merge, self.fingerprint.source_topic, state, **self._beside())

    def _beside(self) -> dict[str, Any]:
        """Return what a merge tells and asks besides the log."""
        return {
            "wait": self.wait,
            "clocks": self.clocks,
            "show": self.noise and self.noise(self.metrics),
            "standing": self.metrics.standing,
            "left": self._show_left,
            "repeated": partial(say_repeated, self.metrics, self.fingerprint.source_topic),
        }

    def _show_left(self, state: State) -> None:
        """Show how many ticks the budget still pays for, where it ends."""
        mechanism = self.merge.mechanism
        left = mechanism.left(state) if isinstance(mechanism, FiniteMechanism) else None
        if left is not None:
            self.metrics.put(RELEASES_LEFT, int(left[0]), self.fingerprint.sink_topic)

    @property
    def written_log(self) -> str | None:
        asks_or_plans = isinstance(self.merge.mechanism, PlanningMechanism | CollectingMechanism)
        return self.fingerprint.source_topic if asks_or_plans else None

    def outputs(self) -> list[Output]:
        """Return the sink, and the internal log if there are plans to be written to it."""
        outputs = super().outputs()
        if isinstance(self.merge.mechanism, PlanningMechanism):
            topic, begin = self.fingerprint.source_topic, self.fingerprint.source_begin
            never_own = Shared(1, lambda part, key: False)
            outputs.append(Output("plans", "plan_log", self._plans, topic, begin, shared=never_own))
        if isinstance(self.merge.mechanism, CollectingMechanism):
            topic, begin = self.fingerprint.source_topic, self.fingerprint.source_begin
            own = Shared(1, lambda part, key: key == ASKING_KEY, self.seal.is_on)
            outputs.append(Output("asking", "asking_log", self._asking, topic, begin, shared=own))
        return outputs

    def released(self, merged: Merged) -> Outgoing:
        """Return the figures of all groups."""
        return outgoing(merged.ticks, self.ticks, self.figures, self.publisher)

    def _plans(self, merged: Merged) -> Outgoing:
        return self.seal.onto(_plans(merged))

    def _asking(self, merged: Merged) -> Outgoing:
        ticks = [one.tick for one in merged.asking]
        keys = [ASKING_KEY] * len(ticks)
        asking = Outgoing(
            partition=0,
            keys=list(keys),
            values=[one.encoded() for one in merged.asking],
            headers=self.publisher.tick_headers(self.fingerprint.source_identity, keys, ticks),
            timestamps=[self.ticks.end(tick) for tick in ticks],
            positions=ticks,
        )
        return self.seal.onto(asking)


def _plans(merged: Merged) -> Outgoing:
    """Return the record of a plan, which a replay may write again: nothing counts twice by it."""
    plans = [] if merged.plan is None else [merged.plan.encoded()]
    return Outgoing(
        partition=0,
        keys=[PLANS_KEY] * len(plans),
        values=plans,
        headers=[[] for _ in plans],
        timestamps=[time.time_ns() // 1_000_000 for _ in plans],
        behind_all=True,
    )


def outgoing(
    ticks: TickReleases, numbering: Ticks, figures: Figures, publisher: Publisher
) -> Outgoing:
    """Return the records of the sanitized topic that say what is released for these ticks."""
    values, ends = list[Sequence[bytes]](), list[int]()
    for tick, releases in ticks:
        notes = {name: note[0].tolist() for name, note in releases.annotations.items()}
        start, end = numbering.end(tick - 1), numbering.end(tick)
        nothing = releases.kinds is not None and releases.kinds[0] == Kind.SUPPRESSED
        values.append(figures.write(start, None if nothing else releases.values[0], notes))
        ends.append(end)
    groups = len(figures.keys)
    keys = figures.keys.taken(np.tile(np.arange(groups), len(ends)))
    positions = _of_each_group([tick for tick, _ in ticks], groups)
    return Outgoing(
        partition=0,
        keys=keys if publisher.key_policy != "none" else nothing_in(len(keys)),
        values=values[0] if len(values) == 1 else list(chain.from_iterable(values)),
        headers=publisher.tick_headers(publisher.source, keys, positions),
        timestamps=_of_each_group(ends, groups),
        positions=positions,
    )


def _of_each_group(numbers: list[int], groups: int) -> IntegerColumn:
    """Return each of some numbers, of ticks, once for every group."""
    return IntegerColumn(np.repeat(np.array(numbers, dtype=np.int64), groups))


class MergeStep(StatefulBatchLogic[Entries, Merged, bytes]):
    """Run the merge.

    Its state goes into bytewax's snapshot as it is, for it has no row per user; but for sums of
    ticks that are not complete, which it points at.
    """

    def __init__(
        self,
        merge: Merging,
        topic: str,
        directory: Path,
        content: bytes | None,
        wait: PolicyWait | None = None,
        clocks: Clocks | None = None,
        show: Show | None = None,
        standing: Standing | None = None,
        left: Show | None = None,
        repeated: Callable[[int], None] | None = None,
    ) -> None:
        self._sums = BlockLog(directory, 0, OpenTicks(), of=_SUMS)
        state = merge.start() if content is None else merge.restored(content, self._loaded)
        self._sums.table = state.open
        self._merger = Merger(merge, topic, state, wait, clocks, show, standing, left, repeated)

    def on_batch(self, values: list[Entries]) -> tuple[list[Merged], bool]:
        """Take entries in, in the order of the log."""
        return [self._merger(chain.from_iterable(values))], StatefulBatchLogic.RETAIN

    def snapshot(self) -> bytes:
        """Return all that a step may change, and where the sums are."""
        return self._merger.state.encoded(self._sums.append().decode())

    def _loaded(self, sums: str) -> OpenTicks:
        self._sums.load(sums.encode())
        return self._sums.table
