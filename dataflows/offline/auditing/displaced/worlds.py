"""Run streams that differ in when one value came, and look at one release."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import orjson

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.offline.auditing.audited import ROOT, Advance
from fugu.dataflows.offline.auditing.labels import label_beside
from fugu.dataflows.offline.auditing.line import Line, Running
from fugu.operators.mechanism import Floats

MARKED, OTHERS = "marked", "others"
_SEEN = {None: 0.0, OTHERS: 1.0, MARKED: 2.0}
_PHASES = {"warmup": 0.0, "steady": 1.0, "cooldown": 2.0}
_STREAMS_PER_SECRET = 2_000

Phase = Literal["first window", "steady state, after a restart", "second epoch"]


@dataclass(frozen=True)
class Scene:
    """Say which release is looked at: that of tick `at` of an epoch, and what came before it."""

    phase: Phase
    at: int
    restart: int = 0
    earlier: int = 0

    def reached(self, running: Running) -> None:
        """Go through the earlier epoch, if there is one, and to where the epoch begins."""
        if self.earlier:
            for _ in range(self.earlier):
                running.advance([OTHERS] * len(running.keys))
            running.finish()
        begin_epoch(running)


def scenes(k: int, reach: int) -> list[Scene]:
    """Return a scene for each phase that the promise is about."""
    first, far = max(k, reach + 1), max(2 * k, reach + 1)
    return [
        Scene("first window", first),
        Scene("steady state, after a restart", far, restart=far - k // 2),
        Scene("second epoch", first, earlier=2 * k),
    ]


@dataclass(frozen=True)
class DelayedWorld:
    """Run streams whose marked value came `delay` ticks before the release that is looked at.

    All other values are alike, so that nothing else tells them apart.
    """

    line: Line
    scene: Scene
    delay: int

    def seen(self, runs: int, seed: tuple[int, int], advance: Advance) -> Floats:
        """Return the release, shape (runs, columns): what it holds, tick, epoch, phase, time, and
        a label of all beside the value."""
        root, found = ROOT.derive(*seed), []
        for start in range(0, runs, _STREAMS_PER_SECRET):
            streams = min(_STREAMS_PER_SECRET, runs - start)
            running = self.line.opened(root.derive(start), streams)
            found.append(_readable(running, self._looked_at(running)))
            advance(streams)
        return np.concatenate(found)

    def _looked_at(self, running: Running) -> Outgoing:
        scene, streams = self.scene, len(running.keys)
        scene.reached(running)
        for tick in range(1, scene.at + 1):
            if tick == scene.restart:
                running.restart()
            marked = tick == scene.at - self.delay
            released = running.advance([MARKED if marked else OTHERS] * streams)
        return released


def begin_epoch(running: Running) -> None:
    """Let streams come to tick 1: in event time that is the tick after their first record."""
    if running.line.ticks is not None:
        running.advance([OTHERS] * len(running.keys))


def envelopes(running: Running, outgoing: Outgoing) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield each record of a stream: its place in the topic, the stream, and what it says.

    `value` is that of one field, or of the first record of a list.
    """
    for place, (key, content) in enumerate(zip(outgoing.keys, outgoing.values, strict=True)):
        if key in running.rows:
            said = orjson.loads(content)
            value = said["value"]
            while isinstance(value, dict | list):
                value = next(iter(value.values() if isinstance(value, dict) else value))
            yield place, running.rows[key], {**said, "value": value}


def _readable(running: Running, outgoing: Outgoing) -> Floats:
    found = np.full((len(running.keys), 6), np.nan)
    for place, row, said in envelopes(running, outgoing):
        phase, time = _PHASES[said["phase"]], outgoing.timestamps[place]
        label = label_beside(said, "value", outgoing.headers[place])
        found[row] = _SEEN[said["value"]], said["tick"], said["epoch"], phase, time, label
    return found
