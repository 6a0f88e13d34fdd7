"""Compare delays, and the order of what leaves at the end, with the laws that they should have."""

from collections.abc import Iterator

import numpy as np

from fugu.dataflows.base.batches import Sanitized
from fugu.dataflows.flows.sections import end_of
from fugu.dataflows.offline.auditing.audited import Check
from fugu.dataflows.offline.auditing.displaced.worlds import begin_epoch
from fugu.dataflows.offline.auditing.line import ROOT, Line, Running
from fugu.dataflows.offline.auditing.shapes import agrees
from fugu.operators.mechanism import Integers
from fugu.operators.temporal.temporal_perturbation import Phase, TemporalPerturbation
from fugu.operators.temporal.threshold_dispatch import ThresholdDispatch

_STREAMS = 20_000
_MOST_RECORDS = 400_000


def laws_of(line: Line, mechanism: TemporalPerturbation) -> Iterator[Check]:
    """Run streams of two windows of numbered values through everything, and finish them."""
    k = mechanism.k
    streams = max(1, min(_STREAMS, _MOST_RECORDS // (2 * k)))
    running = line.opened(ROOT.derive(1), streams)
    begin_epoch(running)
    for tick in range(1, 2 * k + 1):
        released = running.advance([tick] * streams)
    ages = 2 * k - _numbers(released, running)
    counts = np.bincount(ages[ages < 2 * k], minlength=k)
    law = np.pad(mechanism.delay_law, (0, len(counts) - k))
    yield agrees("delays in one release of each stream have their law", counts, law)
    if end_of(line.file.pipeline) != "drain" or not isinstance(mechanism, ThresholdDispatch):
        return
    finished = running.finish("drain")
    leaves = _numbers(finished, running) == 2 * k
    notes = finished.releases.annotations
    cooling = leaves & (notes["phase"] == Phase.COOL_DOWN)
    ended = 2 * k + (0 if line.ticks is None else line.ticks.open)
    places = notes["tick"][cooling] - ended - 1
    waiting = mechanism.cool_down_ticks
    order = np.bincount(places, minlength=waiting)
    yield agrees(
        "the last value leaves anywhere among those that wait at --finish, all places alike",
        order,
        np.pad(np.ones(waiting), (0, len(order) - waiting)),
    )


def _numbers(sanitized: Sanitized, running: Running) -> Integers:
    """Return the number in each release of a stream, 0 where it is empty."""
    found = [
        0 if value is None or key not in running.rows else int(_digits(value))
        for key, value in zip(sanitized.keys, sanitized.releases.values.tolist(), strict=True)
    ]
    return np.array(found, dtype=np.int64)


def _digits(payload: bytes) -> bytes:
    """Return the number that a payload holds, in a field, in a list, or by itself."""
    return payload.translate(None, delete=b'[]{}"').split(b",")[0].rsplit(b":", 1)[-1]
