"""Recognise running totals that go on with the law that implementation 1 gave them.

Implementation 1 mixed figures wherever it could. Implementation 2 leaves them unmixed where a
person may count in so many ticks that mixing errs more. Everywhere else buffers, grid and noise are
the same, and so is the state: totals go on as if nothing had changed. Where figures are not mixed
any more, the buffers in a state are those of another law. Such totals are to be finished with the
version that began them.
"""

from dataclasses import replace

from fugu.operators.totals.fitted import UNMIXED, mixing
from fugu.operators.totals.running_total import RunningTotal


def is_same_law(totals: RunningTotal) -> bool:
    """Return whether implementation 1 measured totals of this configuration as today's does.

    >>> is_same_law(RunningTotal(1, 1, 1, 1.0, 1e-6, horizon=1000, window=24))
    True
    >>> is_same_law(RunningTotal(1, 1, 1, 1.0, 1e-6, horizon=1000))
    False
    """
    return totals.buffers != UNMIXED


def mixed_law_digest(totals: RunningTotal) -> bytes | None:
    """Return the digest that implementation 1 gave this configuration, whose figures it mixed.

    None where it refused the configuration, so that no state of it can be there.

    >>> totals = RunningTotal(1, 1, 1, 1.0, 1e-6, horizon=1000, window=24)
    >>> mixed_law_digest(totals) == totals.law_digest_of(1)
    True
    """
    changes = totals.precision.changes
    buffers = mixing(changes.ticks, changes.counted)
    try:
        return totals.law_digest_of(1, replace(totals.precision, buffers=buffers))
    except ValueError:
        return None


def how_to_finish(totals: RunningTotal) -> str:
    """Say how totals that cannot go on are finished, and others begun."""
    if totals.personal_cap is None:
        until = f"until its horizon of {totals.ticks} ticks is over, and then"
        sum_of_both = "What both promise adds up."
    else:
        until = "until a period of operator.contributions ends, and then"
        sum_of_both = "What both promise adds up in a period that both have records of."
    return (
        "A user may count in so many ticks that figures are not mixed with those before any more, "
        "and these totals were begun with mixed ones. Let the version that wrote them run "
        f"{until} with --finish. Let producers write to a new topic from there on, and begin a "
        "pipeline with a new name, state and sink topic over it, whose totals begin with 0. "
        f"{sum_of_both}"
    )
