"""Charges of ticks by the rules alone: no noise, and a given wish for every publication."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from fugu.operators.mechanism import Array, Integers
from fugu.operators.wevent.allocation import (
    BudgetAbsorption,
    BudgetDistribution,
    Cap,
    PrivacyBudgetAllocation,
    Rule,
    Sample,
    Uniform,
)
from fugu.operators.wevent.spread_strategies import DonorAllocation


class Outcome(IntEnum):
    """Say what became of a tick."""

    PUBLISHED = 0
    SKIPPED = 1
    """It could have been published, and was not wished."""
    IMPOSSIBLE = 2
    """Nothing was offered: nullified, between two samples, or below the resolution."""


RULES: Mapping[str, type[Rule]] = {
    "uniform": Uniform,
    "sample": Sample,
    "budget_distribution": BudgetDistribution,
    "budget_absorption": BudgetAbsorption,
    "pba": PrivacyBudgetAllocation,
    "pba_ldp": DonorAllocation,
}


@dataclass(frozen=True)
class Allocated:
    """Tell what every tick is charged, `(rows, ticks)`, in units, and what became of it."""

    decision: Integers
    publication: Integers
    outcome: Integers


def allocate(
    method: str,
    *,
    window: int,
    epsilon: int,
    wishes: Array,
    flags: Array | None = None,
    cap: Cap | None = None,
) -> Allocated:
    """Follow `wishes` to publish and `flags`, both `(rows, ticks)`, with `epsilon` units."""
    rule = RULES[method](window, epsilon, cap=cap)
    wished = np.asarray(wishes, dtype=bool) | (not rule.decides)
    flagged = np.zeros_like(wished) if flags is None else np.asarray(flags, dtype=bool)
    state, ticks = rule.start(len(wished)), []
    for tick in range(wished.shape[1]):
        offer = rule.offer(state, flagged[:, tick])
        possible = offer.publication > 0
        published = wished[:, tick] & possible
        state = rule.settle(state, offer, published)
        outcome = np.where(possible, Outcome.SKIPPED, Outcome.IMPOSSIBLE)
        outcome = np.where(published, Outcome.PUBLISHED, outcome)
        ticks.append((offer.decision, np.where(published, offer.publication, 0), outcome))
    return Allocated(*(np.stack(column, axis=1) for column in zip(*ticks, strict=True)))
