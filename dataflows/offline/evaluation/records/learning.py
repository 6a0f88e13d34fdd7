"""Measure how far streams come that learn a model of their own on the way."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.run import Run
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.operators.sip.cold_start import ColdStart


@dataclass(frozen=True)
class Learning:
    """Count streams with a learned model, which takes `positions` records.

    `learned` of the `streams` came to one, and `share` is that of the records which were published
    with it.
    """

    positions: int
    streams: int
    longest_stream: int
    learned: int
    share: float

    @classmethod
    def of(cls, candidate: Candidate, sample: Sample, runs: Sequence[Run]) -> "Learning | None":
        """Count by confidences, as there are none without a model; None: nothing is learned."""
        inside = candidate.unbudgeted
        if not isinstance(inside, ColdStart):
            return None
        learned = [np.count_nonzero(sample.by_stream(run.records, run.confident)) for run in runs]
        told = np.concatenate([run.confident[run.published] for run in runs])
        return cls(
            positions=inside.positions,
            streams=sample.stream_count,
            longest_stream=sample.longest_stream,
            learned=int(max(learned)),
            share=float(told.mean()) if len(told) else 0.0,
        )

    def note(self) -> str:
        """Say what to know before the figures are taken for those of a learned model."""
        takes = f"takes {self.positions:,} records"
        if self.learned:
            return (
                f"{self.learned:,} of {self.streams:,} streams come to their learned model, which "
                f"{takes}; everything before is released as by grr."
            )
        why = f"the longest stream has {self.longest_stream:,}"
        if self.longest_stream > self.positions:
            why = "the budget ends before"
        return (
            f"too short to switch: a learned model {takes}, and {why}. All releases are as those "
            "of grr, and say nothing about what comes after."
        )
