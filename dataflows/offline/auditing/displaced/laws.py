"""Compare delays, and the order of what leaves at the end, with the laws that they should have."""

from collections.abc import Iterator, Sequence

import numpy as np

from fugu.dataflows.offline.auditing.audited import ROOT, Check
from fugu.dataflows.offline.auditing.displaced.worlds import begin_epoch, envelopes
from fugu.dataflows.offline.auditing.line import Line
from fugu.dataflows.offline.auditing.shapes import follows
from fugu.operators.mechanism import Floats
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation
from fugu.operators.temporal.threshold import ThresholdDispatch

_STREAMS = 20_000
_MOST_SLOTS = 40_000_000
"""Bound the slots of all records together: a record takes a step over the window."""


def laws_of(line: Line, mechanism: TemporalPerturbation) -> Iterator[Check]:
    """Run streams of two windows of numbered values through everything, and finish them."""
    k = mechanism.k
    streams = max(1, min(_STREAMS, _MOST_SLOTS // (2 * k * k)))
    running = line.opened(ROOT.derive(1), streams)
    begin_epoch(running)
    for tick in range(1, 2 * k + 1):
        released = running.advance([tick] * streams)
        if tick in (k, 2 * k):
            said = [said for _, _, said in envelopes(running, released) if not said["empty"]]
            delays = [tick - one["value"] for one in said]
            about = f"delays of what leaves in tick {tick} have their law"
            yield _follows(about, delays, mechanism.delay_law)
    finished = running.finish()
    if line.end == "drain" and isinstance(mechanism, ThresholdDispatch):
        ended = 2 * k + (0 if line.ticks is None else line.ticks.open)
        places = [
            said["tick"] - ended - 1
            for _, _, said in envelopes(running, finished)
            if said["phase"] == "cooldown" and said["value"] == 2 * k
        ]
        about = "the last value leaves anywhere among those that wait at --finish, all places alike"
        yield _follows(about, places, np.ones(mechanism.pending))


def _follows(about: str, numbers: Sequence[int], law: Floats) -> Check:
    """Check that numbers 0, 1, ... are as likely as `law` says, and that there are no others."""
    drawn, upto = np.array(numbers, dtype=np.int64), np.cumsum(law) / law.sum()
    upto = np.concatenate([[0.0, 0.0], upto])
    place = np.where((drawn >= 0) & (drawn < len(law)), drawn + 1, 0)
    return follows(about, upto[place], upto[np.where(place > 0, place + 1, 0)])
