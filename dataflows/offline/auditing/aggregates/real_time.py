"""Audit real-time release of figures: Gaussian noise, and a filter of what was released."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from fugu.dataflows.kinds import RealTimeOperator
from fugu.dataflows.offline.auditing.aggregates.as_drawn import PUBLIC
from fugu.dataflows.offline.auditing.aggregates.building import (
    attacks_on,
    compared,
    extent_of,
    with_few_groups,
)
from fugu.dataflows.offline.auditing.aggregates.checks import as_stated, checks
from fugu.dataflows.offline.auditing.aggregates.shaped import audited_shaped
from fugu.dataflows.offline.auditing.aggregates.worlds import Comparison
from fugu.dataflows.offline.auditing.audited import ROOT, Audited, Check, WorstCase
from fugu.dataflows.offline.auditing.gaussian_loss import nats_at
from fugu.dataflows.offline.auditing.shapes import DRAWS, follows_gaussian
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.operators.auditing.steps_as_drawn import Steps, steps_of
from fugu.operators.noise.gaussian_table import PRECISION
from fugu.operators.personal_cap import PersonalCap
from fugu.operators.realtime.real_time_release import RealTimeRelease

_MOST_TICKS = 1_000


def audited_real_time(file: PipelineFile, steps: int) -> Audited:
    """Return the exact worst case of the measured noise, and attacks on single and on all ticks."""
    assert isinstance(file.pipeline.operator, RealTimeOperator)
    if file.pipeline.operator.shaped is not None:
        return audited_shaped(file, steps)
    file, left_out = with_few_groups(file)
    operator = file.pipeline.operator
    assert isinstance(operator, RealTimeOperator)
    release = operator.release()
    [guarantee] = release.guarantees()
    comparison, numbers = compared(file, guarantee, steps)
    subject = comparison.subject
    ticks = _ticks(release)
    measured = steps_of(release, ticks, between=subject.before)
    extent = extent_of(guarantee, operator.in_ticks().width)
    cap = release.personal_cap
    squares = (
        _squares(measured, comparison, release.sensitivity, extent)
        if cap is None
        else _capped_squares(measured, comparison, release.sensitivity, cap)
    )
    return Audited(
        worst=(
            WorstCase(
                guarantee.notion,
                f"the epsilon of noise as drawn, at delta {guarantee.total_delta:.3g}",
                f"{min(ticks, extent or ticks):,} ticks",
                guarantee.epsilon,
                nats_at(squares, guarantee.total_delta),
            ),
        ),
        checks=(
            *checks(comparison, release.sensitivity * (2 if cap else release.changed_bins)),
            Check(PUBLIC, measured.public),
            *as_stated(guarantee, squares),
            _law(comparison, release, int(measured.steps[0])),
        ),
        attacks=tuple(attacks_on(guarantee, comparison, numbers, lambda said: None)),
        not_reached=(*left_out, *_not_reached(release, ticks, comparison)),
    )


def _ticks(release: RealTimeRelease) -> int:
    if release.personal_cap is not None:
        return min(_MOST_TICKS, release.personal_cap.ticks)
    lasts = release.horizon or release.account.values or _MOST_TICKS
    wanted = 2 * release.period + 2 if release.period is not None else lasts + 2
    return min(_MOST_TICKS, wanted)


def _squares(measured: Steps, comparison: Comparison, sensitivity: int, extent: int | None) -> int:
    """Return the most that neighbours differ by in squared grid steps, as they were summed."""
    base = comparison.truths[comparison.base]
    largest = max(
        sum(int(unit) ** 2 for unit in truths[tick] - base[tick])
        for truths in comparison.truths.values()
        for tick in truths.keys() & base.keys()
    )
    squares = [int(steps) ** 2 for steps in measured.steps]
    length = min(extent or len(squares), len(squares))
    most = max(sum(squares[at : at + length]) for at in range(len(squares) - length + 1))
    return -(-most * largest // sensitivity**2)


def _capped_squares(
    measured: Steps, comparison: Comparison, sensitivity: int, cap: PersonalCap
) -> int:
    """Return the most that neighbours differ by in a period, in squared grid steps."""
    base = comparison.truths[comparison.base]
    most = 0
    for truths in comparison.truths.values():
        periods: Counter[int] = Counter()
        for tick in truths.keys() & base.keys():
            apart = truths[tick] - base[tick]
            periods[cap.period_of(tick)] += sum(int(unit) ** 2 for unit in apart)
        most = max(most, *periods.values())
    return -(-most * int(measured.steps.max()) ** 2 // sensitivity**2)


def _law(comparison: Comparison, release: RealTimeRelease, steps: int) -> Check:
    """Compare the noise of the first figure, which is not filtered, with its Gaussian law."""
    name = "noise follows the Gaussian law of its grid steps"
    if steps == 0:
        return Check(name, passed=False, found="the first tick is not measured")
    plain = replace(comparison.subject, mechanism=replace(release, presentation="none"))
    truths = comparison.truths[comparison.base]
    streams = [b"%d" % run for run in range(DRAWS)]
    first = min(truths)
    releases = plain.released_at(first, comparison.base, ROOT.derive("law"), streams)
    deviation = release.sensitivity * 2**PRECISION / steps
    noise = (releases.values - truths[first])[:, 0] / deviation
    return follows_gaussian(name, noise)


def _not_reached(release: RealTimeRelease, ticks: int, comparison: Comparison) -> Iterator[str]:
    run, lasts = len(comparison.base), release.horizon or release.period
    if lasts is not None and run <= lasts:
        yield (
            f"attacks after the end of a budget: runs have {run} ticks, and it lasts {lasts:,}; "
            "noise is measured beyond that"
            if ticks > lasts
            else f"the end of the budget: {ticks:,} ticks are measured, and it lasts {lasts:,}"
        )
