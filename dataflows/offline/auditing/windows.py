"""Audit figures with a budget for any window of ticks."""

from dataclasses import replace

from fugu.dataflows.kinds import AggregateOperator
from fugu.dataflows.offline.auditing.aggregates.building import (
    attacks_on,
    compared,
    with_few_groups,
)
from fugu.dataflows.offline.auditing.aggregates.checks import checks
from fugu.dataflows.offline.auditing.aggregates.worlds import likelihood_ratio
from fugu.dataflows.offline.auditing.audited import Audited
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.pipeline.pipeline_file import PipelineFile


def audited_windows(file: PipelineFile, steps: int) -> Audited:
    """Return attacks on inputs that differ within a window, and in more than a window."""
    file, left_out = with_few_groups(file)
    mechanism, operator = configure(file).mechanism, file.pipeline.operator
    assert isinstance(operator, AggregateOperator)
    width, found = operator.in_ticks().width, Audited((), (), (), left_out)
    for guarantee in mechanism.guarantees():
        comparison, numbers = compared(file, guarantee, likelihood_ratio, steps)
        found = replace(
            found,
            checks=(*found.checks, *checks(comparison, operator.sensitivity)),
            attacks=(*found.attacks, *attacks_on(guarantee, comparison, numbers, width)),
        )
    return found
