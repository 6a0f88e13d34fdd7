"""Audit running totals: what is measured, as the real step measures it, and attacks on figures."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from fugu.dataflows.kinds.running_total import RunningTotalOperator
from fugu.dataflows.offline.auditing.aggregates.building import (
    attacks_on,
    compared,
    extent_of,
    with_few_groups,
)
from fugu.dataflows.offline.auditing.aggregates.checks import as_stated, checks
from fugu.dataflows.offline.auditing.aggregates.worlds import Comparison, Truths
from fugu.dataflows.offline.auditing.audited import ROOT, Audited, Check, WorstCase
from fugu.dataflows.offline.auditing.gaussian_loss import nats_at
from fugu.dataflows.offline.auditing.shapes import DRAWS, follows_gaussian
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.operators.auditing.steps_as_drawn import ChosenPoints
from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import Inputs, Integers
from fugu.operators.totals.running_total import RunningTotal


def audited_totals(file: PipelineFile, steps: int) -> Audited:
    """Return how far measurements of neighbours are apart, and attacks on published totals."""
    file, left_out = with_few_groups(file)
    operator = file.pipeline.operator
    assert isinstance(operator, RunningTotalOperator)
    totals = operator.release()
    [guarantee] = totals.guarantees()
    comparison, numbers = compared(file, guarantee, steps)
    extent = extent_of(guarantee, operator.in_ticks().width)
    cap, counted = totals.personal_cap, totals.precision.changes.counted
    apart = squares_apart(
        comparison,
        partial(measured, totals),
        lambda tick: 0 if cap is None else cap.period_of(tick),
        counted if cap is None else None,
    )
    alike = totals.precision.alike(apart)
    bound = totals.bin_changes * totals.sensitivity
    return Audited(
        worst=(worst_measured(guarantee, comparison, alike),),
        checks=(
            *checks(comparison, bound),
            *as_stated(guarantee, alike),
            _law(comparison, totals),
        ),
        attacks=tuple(attacks_on(guarantee, comparison, numbers, lambda said: None)),
        not_reached=(*left_out, *_not_reached(comparison, extent, totals)),
    )


def measured(totals: RunningTotal, truths: Truths) -> Mapping[int, Integers]:
    """Return what is measured at each tick without noise, also at silent ones in between."""
    state, found = totals.start(1), dict[int, Integers]()
    nothing = np.zeros((1, totals.bins * totals.precision.parts), dtype=np.int64)
    for tick in sorted(truths):
        state = totals.elapse(state, np.array([tick]))
        inputs = Inputs(truths[tick][None])
        state, _, indices = totals.measure(state, inputs, ChosenPoints(nothing))
        for at, index in enumerate(indices, start=tick + 1 - len(indices)):
            found[at] = np.rint(index[0]).astype(np.int64)
    return found


def worst_measured(guarantee: Guarantee, comparison: Comparison, alike: int) -> WorstCase:
    """Return what measurements so many squared steps apart lose, beside what is promised."""
    return WorstCase(
        guarantee.notion,
        f"the epsilon of what is measured, at delta {guarantee.total_delta:.3g}",
        f"the {len(comparison.truths) - 1} inputs compared",
        guarantee.epsilon,
        nats_at(alike, guarantee.total_delta),
    )


def squares_apart(
    comparison: Comparison,
    measure: Callable[[Truths], Mapping[int, Integers]],
    period_of: Callable[[int], int],
    at_most: int | None = None,
) -> int:
    """Return the most that inputs measure apart in one period, in squared steps.

    Inputs that differ in more than `at_most` ticks, if the promise is about so many, are left out:
    they are attacked only.
    """
    base = measure(comparison.truths[comparison.base])
    most = 0
    for said, truths in comparison.truths.items():
        differing = sum(one != two for one, two in zip(said, comparison.base, strict=True))
        if at_most is not None and differing > at_most:
            continue
        other, periods = measure(truths), Counter[int]()
        for tick in base.keys() & other.keys():
            periods[period_of(tick)] += sum(int(unit) ** 2 for unit in other[tick] - base[tick])
        most = max(most, *periods.values())
    return most


def _law(comparison: Comparison, totals: RunningTotal) -> Check:
    """Compare the noise of the first total with its Gaussian law."""
    truths = comparison.truths[comparison.base]
    first = min(truths)
    streams = [b"%d" % run for run in range(DRAWS)]
    subject = replace(comparison.subject, mechanism=totals)
    releases = subject.released_at(first, comparison.base, ROOT.derive("law"), streams)
    noise = (releases.values - truths[first])[:, 0] / totals.precision.noise
    return follows_gaussian("noise follows the Gaussian law of its grid steps", noise)


def _not_reached(comparison: Comparison, extent: int | None, totals: RunningTotal) -> Iterator[str]:
    run = len(comparison.base)
    if run < totals.ticks:
        yield f"the end of a horizon or period: runs have {run} ticks of {totals.ticks:,}"
    if extent is not None and run < extent + 1:
        yield f"attacks on more than is promised: runs have {run} ticks, and that is {extent:,}"
