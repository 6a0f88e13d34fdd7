"""Say what to know before rows about displaced values are compared."""

from collections.abc import Iterator, Sequence

import numpy as np

from fugu.dataflows.kinds import TemporalOperator
from fugu.dataflows.offline.evaluation.family import CONFIGURED
from fugu.dataflows.offline.evaluation.report import Report
from fugu.dataflows.offline.evaluation.temporal.numbers import BASELINES, Numbers
from fugu.dataflows.offline.evaluation.temporal.utility import TemporalUtility


def notes(
    operator: TemporalOperator,
    report: Report[TemporalUtility],
    numbers: Numbers | None,
    left_out: Sequence[str],
) -> Iterator[str]:
    """Say what epsilon means, and how costs and errors are to be read."""
    costs = operator.costs.of(operator.window)
    yield (
        "eps limits how much more likely one delay of a value may be than another: at most "
        "exp(eps / 2) times. law: what the law of visible delays really has, never more than "
        "eps; by default rivals get what the pipeline's own law has. Values are published as "
        "they are: this is no ldp, and fugu explain says what it leaves open."
    )
    if any(row.configured for row in report.rows):
        yield CONFIGURED
    if not all(row.candidate.sound for row in report.rows):
        yield "! promises nothing: with operator.start: cold, early delays have another law."
    if operator.kind == "temporal_perturbation":
        yield "the first rows are what temporal_perturbation chooses at each eps, by its costs."
    yield (
        "missing and repeated are shares of values, empty of ticks (those to which nothing "
        "came are empty too); delay: ticks per value until it first leaves, 0 if it never "
        f"does. total: with costs of {costs.missing:g}, {costs.repeated:g} and "
        f"{costs.empty:g} each, and {costs.delay:g} for a tick (operator.costs). A smaller "
        "total is the better operator, of those with the same eps."
    )
    yield from _of_numbers(report, numbers)
    yield from left_out
    if operator.warm_up == "suppress":
        yield (
            "the first window of each epoch is measured too, which this pipeline does not "
            "publish (operator.warm_up): what leaves in it is lost, and a count is short by it."
        )


def _of_numbers(report: Report[TemporalUtility], numbers: Numbers | None) -> Iterator[str]:
    if numbers is None:
        yield (
            "not all payloads are single numbers: there are no counts and averages to compare, and "
            "no operators that would change values. These are the costs only."
        )
        return
    share = numbers.above.sum() / np.count_nonzero(~np.isnan(numbers.values))
    yield (
        f"running count: values above {numbers.counted_from:g} ({share:.0%} of all; "
        "--count-above), an empty tick adds nothing. filled: divided by the share of ticks "
        "that hold a value (grr: debiased). moved: that, compared with the true count at the "
        "mean delay earlier. All of that is known to readers."
    )
    yield (
        f"moving average: of the last {numbers.reading.average} ticks (--average), empty ones "
        "left out. moved: compared with the true one lag ticks earlier."
    )
    if any(row.candidate.kind in BASELINES for row in report.rows):
        yield (
            "eps/2: these change values and not their ticks, with ldp of half of eps for every "
            "value, so that two values which change places cost eps."
        )
