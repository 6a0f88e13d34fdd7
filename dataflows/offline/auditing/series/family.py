"""Audit series of numbers: the loss of what is measured, its noise, and attacks on all of it."""

from collections.abc import Iterator

import numpy as np

from fugu.dataflows.base.errors import CannotBeAudited
from fugu.dataflows.offline.auditing.audited import Attack, Audited, WorstCase
from fugu.dataflows.offline.auditing.gaussian_loss import nats_at
from fugu.dataflows.offline.auditing.line import Line
from fugu.dataflows.offline.auditing.series.checks import (
    LONGEST,
    Spent,
    noise_of,
    nothing_after_the_budget,
    spent,
)
from fugu.dataflows.offline.auditing.series.measured import steps_of
from fugu.dataflows.offline.auditing.series.worlds import SeriesWorld
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import Integers
from fugu.operators.realtime.local_release import LocalRealTimeRelease

_LONGEST_ATTACKED = 64


def audited_series(file: PipelineFile, steps: int) -> Audited:
    """Return the exact loss of all that is measured, and attacks that weigh it together."""
    line = Line.of(file)
    mechanism = line.mechanism
    assert isinstance(mechanism, LocalRealTimeRelease)
    promise, course = _promise(mechanism), spent(line, mechanism)
    readable = mechanism.series.presentation == "none"
    ends = mechanism.series.period is None and course.whole
    return Audited(
        worst=tuple(_worst(mechanism, promise, course)),
        checks=(
            *(noise_of(line, mechanism) if readable else ()),
            *([nothing_after_the_budget(line, mechanism)] if ends else []),
        ),
        attacks=tuple(_attacks(line, mechanism, promise, steps)),
        not_reached=tuple(_not_reached(mechanism, promise, course)),
        sound=promise.sound,
    )


def _promise(mechanism: LocalRealTimeRelease) -> Guarantee:
    for guarantee in mechanism.guarantees():
        neighbours = guarantee.neighbours
        if neighbours.what == "number" and neighbours.change == "replaced":
            return guarantee
    raise CannotBeAudited(
        f"operators of kind {mechanism.kind} promise nothing about numbers that fugu audit can "
        "attack. Read fugu explain instead"
    )


def _extent(promise: Guarantee) -> int | None:
    """Return in how many ticks in a row neighbours may differ; None: in all."""
    return {"release": 1, "stream": None}.get(promise.per, promise.window)


def _worst(
    mechanism: LocalRealTimeRelease, promise: Guarantee, course: Spent
) -> Iterator[WorstCase]:
    """Yield the loss of what was measured; and of the whole schedule, if that was not followed."""
    extent, delta = _extent(promise), promise.total_delta
    about = f"numbers of {'all' if extent is None else f'{extent:,}'} ticks"
    lost = {f"{len(course.steps):,} ticks with a pause and restarts": course.squares(extent)}
    if not course.whole:
        lost[f"all {mechanism.series.account.values:,} as planned"] = (
            mechanism.series.account.squares
        )
    for name, squares in lost.items():
        what = f"{name}, at delta {delta:.3g}"
        yield WorstCase(promise.notion, about, what, promise.epsilon, nats_at(squares, delta))


def _attacks(
    line: Line, mechanism: LocalRealTimeRelease, promise: Guarantee, steps: int
) -> Iterator[Attack]:
    values, extent = mechanism.series.account.values, _extent(promise)
    whole = min(values if extent is None else extent, _LONGEST_ATTACKED)
    before = 0 if extent is None else min(extent // 2, _LONGEST_ATTACKED)
    few = min(steps, values)
    courses = {
        f"{whole} numbers": (before + whole, before, before + whole),
        f"the first of {few} numbers": (few, 0, 1),
    }
    for name, (ticks, first, end) in courses.items():
        differ = (np.arange(ticks) >= first) & (np.arange(ticks) < end)
        measured = np.ones(ticks, dtype=np.int64)
        loss = _loss(mechanism, measured, differ.astype(np.int64), promise.total_delta)
        yield Attack(
            promise.notion,
            name,
            SeriesWorld(line, (mechanism.lower,) * ticks),
            SeriesWorld(line, tuple(np.where(differ, mechanism.upper, mechanism.lower).tolist())),
            promise.epsilon,
            promise.total_delta,
            (loss, loss),
        )


def _loss(
    mechanism: LocalRealTimeRelease, measured: Integers, differ: Integers, delta: float
) -> float:
    steps = steps_of(mechanism, measured) * differ
    return nats_at(int((steps.astype(object) ** 2).sum()), delta)


def _not_reached(
    mechanism: LocalRealTimeRelease, promise: Guarantee, course: Spent
) -> Iterator[str]:
    values, extent = mechanism.series.account.values, _extent(promise)
    if min(values, extent or values) > _LONGEST_ATTACKED:
        yield f"attacks on more than {_LONGEST_ATTACKED} numbers: the exact loss is of all of them"
    if not course.whole:
        yield f"the end of the budget: streams are followed for {LONGEST:,} numbers"
    if mechanism.series.presentation != "none":
        yield "the law of the noise: what is published is rounded, or cut off at 0"
    yield (
        "which ticks have a number, which is public, and streams of numbers that go with those of "
        "another stream"
    )
