"""Audit figures with a budget for any window of ticks."""

from collections.abc import Iterator
from dataclasses import replace

from fugu.dataflows.kinds import AggregateOperator
from fugu.dataflows.offline.auditing.aggregates.as_drawn import AsDrawn
from fugu.dataflows.offline.auditing.aggregates.building import (
    attacks_on,
    compared,
    extent_of,
    with_few_groups,
)
from fugu.dataflows.offline.auditing.aggregates.checks import checks
from fugu.dataflows.offline.auditing.aggregates.worlds import Comparison
from fugu.dataflows.offline.auditing.audited import Audited
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.wevent.binary_tree import BinaryTree
from fugu.operators.wevent.pegasus import Pegasus

_IN_GROUPS = (
    "prices of noise, and the exact worst case: published are medians of groups, whose tests see "
    "figures of many ticks"
)


def audited_windows(file: PipelineFile, steps: int) -> Audited:
    """Return attacks on inputs that differ within a window, and in more than a window."""
    file, left_out = with_few_groups(file)
    mechanism, operator = configure(file).mechanism, file.pipeline.operator
    assert isinstance(operator, AggregateOperator)
    width, found = operator.in_ticks().width, Audited((), (), (), left_out)
    for guarantee in mechanism.guarantees():
        comparison, numbers = compared(file, guarantee, steps)
        extent = extent_of(guarantee, width)
        if isinstance(mechanism, Pegasus):
            attacks = attacks_on(guarantee, comparison, numbers, lambda other: None)
            return replace(
                found,
                checks=tuple(checks(comparison, operator.sensitivity)),
                attacks=tuple(attacks),
                not_reached=(*found.not_reached, _IN_GROUPS),
            )
        drawn = AsDrawn.of(comparison, extent)
        found = replace(
            found,
            worst=(*found.worst, *drawn.worst(guarantee, extent)),
            checks=(
                *found.checks,
                *checks(comparison, operator.sensitivity),
                *drawn.checks(guarantee, extent),
            ),
            attacks=(*found.attacks, *attacks_on(guarantee, comparison, numbers, drawn.exact)),
            not_reached=(*found.not_reached, *_not_reached(drawn, comparison, extent)),
        )
    return replace(found, checks=tuple(dict.fromkeys(found.checks)))


def _not_reached(drawn: AsDrawn, comparison: Comparison, extent: int | None) -> Iterator[str]:
    ticks, run = len(drawn.prices.publication), len(comparison.base)
    if extent is not None and run < extent + 1:
        yield f"attacks on whole windows: runs have {run} ticks, and a window has {extent:,}"
    if extent is not None and ticks <= extent:
        yield f"prices of a whole window: measured are {ticks} ticks, and a window has {extent:,}"
    mechanism = comparison.subject.mechanism
    if extent is None and isinstance(mechanism, BinaryTree) and mechanism.horizon > ticks:
        yield f"prices of a whole stream: measured are {ticks} ticks of {mechanism.horizon:,}"
    if not drawn.fixed:
        yield "the exact worst case: decisions and figures are bounded by the sum of their prices"
