"""Audit operators that publish true values at other ticks."""

from collections.abc import Iterator
from math import inf, log

import numpy as np

from fugu.dataflows.base.errors import CannotBeAudited
from fugu.dataflows.offline.auditing.audited import Attack, Audited, Leaks, WorstCase
from fugu.dataflows.offline.auditing.displaced.checks import checks_of, printed_law
from fugu.dataflows.offline.auditing.displaced.delays import exact_delays
from fugu.dataflows.offline.auditing.displaced.laws import laws_of
from fugu.dataflows.offline.auditing.displaced.worlds import DelayedWorld, scenes
from fugu.dataflows.offline.auditing.line import Line
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import Floats
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation

_LONGEST_ATTACKED = 24
_NOT_CLAIMED = (
    "all releases of a stream together, which nothing is promised about: the attacks look at one "
    "release, at which the marked value may leave whenever it came",
    "the beginning of an epoch, where it is published, and what leaves at its end, but for the "
    "order in which that happens",
    "inference from values, from knowledge of other records, and from a second release",
)


def audited_displaced(file: PipelineFile, steps: int) -> Audited:
    """Return the exact law of a delay, and attacks that look at one release in several phases."""
    line = Line.of(file)
    mechanism = line.mechanism
    assert isinstance(mechanism, TemporalPerturbation)
    promise = _promise(mechanism)
    reach = promise.neighbours.reach
    assert reach is not None
    exact = exact_delays(mechanism, reach) if promise.sound else None
    not_reached = list(_NOT_CLAIMED)
    if exact is None:
        not_reached.append("the exact law of delays: there are too many states to follow")
    if mechanism.k > _LONGEST_ATTACKED:
        not_reached.append(f"attacks: windows of more than {_LONGEST_ATTACKED} ticks take too long")
    printed = [] if exact is None else [printed_law(mechanism, exact)]
    return Audited(
        worst=() if exact is None else (_worst(promise, exact),),
        checks=(*printed, *laws_of(line, mechanism), *checks_of(line, mechanism)),
        attacks=tuple(_attacks(line, mechanism, promise, exact)),
        not_reached=tuple(not_reached),
        sound=promise.sound,
    )


def _promise(mechanism: TemporalPerturbation) -> Guarantee:
    for guarantee in mechanism.guarantees():
        if guarantee.notion == "delay-law" and guarantee.neighbours.change == "delayed":
            return guarantee
    raise CannotBeAudited(
        f"operators of kind {mechanism.kind} promise nothing about delays that fugu audit can "
        "attack. Read fugu explain instead"
    )


def _claim(promise: Guarantee) -> float:
    """Return the nats of one delay against another: a delay law has half of its epsilon."""
    return promise.epsilon / 2.0


def _worst(promise: Guarantee, exact: Floats) -> WorstCase:
    about = "one release, half of epsilon"
    return WorstCase(
        "delay-law", about, f"delays 0 to {len(exact) - 1}", _claim(promise), _nats(exact)
    )


def _nats(exact: Floats) -> float:
    return inf if exact.min() <= 0.0 else log(exact.max() / exact.min())


def _attacks(
    line: Line, mechanism: TemporalPerturbation, promise: Guarantee, exact: Floats | None
) -> Iterator[Attack]:
    reach = promise.neighbours.reach
    assert reach is not None
    if mechanism.k > _LONGEST_ATTACKED:
        return
    law = mechanism.delay_law if exact is None else exact
    likeliest, rarest = int(np.argmax(law)), int(np.argmin(law))
    pairs = {(likeliest, rarest)} if exact is not None else {(likeliest, rarest), (0, reach)}
    for scene in scenes(mechanism.k, reach):
        for one, other in sorted(pairs):
            if one != other:
                yield Attack(
                    "delay-law",
                    f"{scene.phase}: {one} or {other} ticks late",
                    DelayedWorld(line, scene, one),
                    DelayedWorld(line, scene, other),
                    _claim(promise),
                    promise.total_delta,
                    _leaks(mechanism, exact, one, other),
                )


def _leaks(
    mechanism: TemporalPerturbation, exact: Floats | None, one: int, other: int
) -> Leaks | None:
    """Return what one release says: it holds the value, or another one, or it is empty."""
    if exact is None:
        return None
    held = exact[[one, other]]
    ratios = np.stack([held, 1.0 - mechanism.expected.empty - held])
    if ratios.min() <= 0.0:
        return inf, inf
    log_ratios = np.log(ratios[:, 0] / ratios[:, 1])
    return max(0.0, float(log_ratios.max())), max(0.0, float(-log_ratios.min()))
