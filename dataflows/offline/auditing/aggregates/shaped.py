"""Audit releases with shaped noise: what is measured, and attacks on what is published."""

from collections.abc import Mapping
from functools import partial

import numpy as np

from fugu.dataflows.kinds import RealTimeOperator
from fugu.dataflows.offline.auditing.aggregates.building import (
    attacks_on,
    compared,
    with_few_groups,
)
from fugu.dataflows.offline.auditing.aggregates.checks import as_stated, checks
from fugu.dataflows.offline.auditing.aggregates.totals import squares_apart, worst_measured
from fugu.dataflows.offline.auditing.aggregates.worlds import Truths
from fugu.dataflows.offline.auditing.audited import Audited
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.operators.auditing.steps_as_drawn import ChosenPoints
from fugu.operators.mechanism import Inputs, Integers
from fugu.operators.realtime.shaped_release import ShapedRelease

_LAW = "the law of noise: figures are filtered; draws are those of running totals"


def audited_shaped(file: PipelineFile, steps: int) -> Audited:
    """Return how far measurements of neighbours are apart, and attacks on published estimates."""
    file, left_out = with_few_groups(file)
    operator = file.pipeline.operator
    assert isinstance(operator, RealTimeOperator)
    shaped = operator.shaped
    assert shaped is not None
    [guarantee] = shaped.guarantees()
    comparison, numbers = compared(file, guarantee, steps)
    cap = shaped.personal_cap
    apart = squares_apart(comparison, partial(measured, shaped), cap.period_of)
    alike = shaped.precision.alike(apart)
    return Audited(
        worst=(worst_measured(guarantee, comparison, alike),),
        checks=(
            *checks(comparison, min(2, shaped.bins) * shaped.sensitivity),
            *as_stated(guarantee, alike),
        ),
        attacks=tuple(attacks_on(guarantee, comparison, numbers, lambda said: None)),
        not_reached=(*left_out, _LAW),
    )


def measured(shaped: ShapedRelease, truths: Truths) -> Mapping[int, Integers]:
    """Return what is measured at each tick without noise."""
    state, found = shaped.start(1), dict[int, Integers]()
    nothing = np.zeros((1, shaped.bins * shaped.precision.parts), dtype=np.int64)
    for tick in sorted(truths):
        state = shaped.elapse(state, np.array([tick]))
        state, _ = shaped.step(state, Inputs(truths[tick][None]), ChosenPoints(nothing))
        found[tick] = np.rint(state["measured"][0]).astype(np.int64)
    return found
