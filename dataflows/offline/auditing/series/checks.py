"""Check noise and budget of series: what is measured, how precisely, and what follows."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fugu.dataflows.offline.auditing.audited import ROOT, Check
from fugu.dataflows.offline.auditing.line import Line
from fugu.dataflows.offline.auditing.series.measured import Measured, steps_of
from fugu.dataflows.offline.auditing.series.worlds import advanced, published, values_of
from fugu.dataflows.offline.auditing.shapes import DRAWS, follows_gaussian
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.noise.gaussian_table import PRECISION
from fugu.operators.realtime.local_release import LocalRealTimeRelease

LONGEST = 2_000
"""The most ticks that a few streams are followed for."""


@dataclass(frozen=True, eq=False)
class Spent:
    """Hold what was measured in each tick of streams that go through every phase, in grid steps.

    `whole`: whether their budget came to an end, or began anew, on the way.
    """

    steps: Integers
    whole: bool

    def squares(self, window: int | None) -> int:
        """Return the largest sum of squares within so many ticks in a row; None: in all."""
        squares = np.concatenate([[0], np.cumsum(self.steps.astype(object) ** 2)])
        if window is None or window >= len(self.steps):
            return int(squares[-1])
        return int((squares[window:] - squares[:-window]).max())


def spent(line: Line, mechanism: LocalRealTimeRelease) -> Spent:
    """Run a stream until nothing is left of its budget, with a pause and restarts in between."""
    series, ticks = mechanism.series, line.ticks
    assert ticks is not None
    values = series.account.values * (1 if series.period is None else 3)
    followed = min(values, LONGEST)
    pause = [None] * min(ticks.idle + 1, LONGEST)
    number = mechanism.lower
    half = [number] * (followed - followed // 2)
    course = [*half, *pause, *half, number, number]
    running = line.opened(ROOT.derive(11), 2)
    parts = []
    for tick, given in enumerate(course):
        if tick in (1, len(half), len(half) + len(pause), len(course) - 2):
            running.restart()
        parts.append(published(running, [given], restart=-1))
    _, measured = values_of(np.concatenate(parts, axis=1))
    return Spent(steps_of(mechanism, measured), followed == values)


def nothing_after_the_budget(line: Line, mechanism: LocalRealTimeRelease) -> Check:
    """Compare what is published after the budget if streams have other numbers from then on."""
    runs = []
    for late in (mechanism.lower, mechanism.upper):
        running = line.opened(ROOT.derive(12), 20)
        for _ in range(mechanism.series.account.values):
            advanced(running, mechanism.lower)
        runs.append([advanced(running, late) for _ in range(3)])
    about = "after the budget is spent, the same bytes are published whatever numbers come"
    return Check(about, runs[0] == runs[1])


def noise_of(line: Line, mechanism: LocalRealTimeRelease) -> Iterator[Check]:
    """Compare the noise of the first values with the declared law; the third one is filtered."""
    middle = (mechanism.lower + mechanism.upper) // 2
    numbers = [middle, middle, mechanism.upper][: mechanism.series.account.values]
    running = line.opened(ROOT.derive(13), DRAWS)
    found = Measured.of(mechanism, *values_of(published(running, numbers, restart=-1)))
    width = float(mechanism.upper - mechanism.lower)
    noise = (found.noisy - np.array(numbers)) * found.steps / width / 2.0**PRECISION
    for number, one in enumerate(noise.T, start=1):
        yield _normal(f"noise of value {number} is what is declared", one)
    if len(numbers) > 1:
        together = (noise[:, 0] + noise[:, 1]) / np.sqrt(2.0)
        yield _normal("noise of two ticks is independent", together)


def _normal(about: str, noise: Floats) -> Check:
    return follows_gaussian(about, noise[~np.isnan(noise)])
