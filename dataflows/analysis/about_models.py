"""Say how far shares lean on a model, and whether what was released agrees with it."""

import warnings
from collections.abc import Sequence

import numpy as np

from fugu.dataflows.analysis.estimates import ModelAlarm
from fugu.dataflows.publishing.promise import Promise
from fugu.operators.budget import without_budget
from fugu.operators.estimates.model_check import ModelCheck
from fugu.operators.mechanism import Integers, Mechanism, RepeatingMechanism
from fugu.operators.sip.cold_start import ColdStart

_UNCHECKED = (
    "shares of {kind} lean on the model, and nothing here checks it: where it is wrong they are "
    "biased by an amount that bars do not show"
)
_LEARNED = (
    "{late:,} of {records:,} records came after their stream had learned a model of its own, and "
    "their shares lean on it. It is learned from noise, so it is never quite right, and nothing "
    "checks it: shares of rare symbols may come out too low, by an amount that bars do not show"
)


def about_model(
    check: ModelCheck | None,
    alphabet: Sequence[str | int],
    promise: Promise,
    mechanism: Mechanism,
    users: Integers,
) -> Sequence[str]:
    """Return what to know of the model behind estimates; an alarm is a warning, too."""
    inner = without_budget(mechanism)
    if check is None:
        if isinstance(inner, ColdStart):
            return _about_learned(inner, users)
        return (_UNCHECKED.format(kind=promise.law.kind),) if hasattr(inner, "model") else ()
    if not check.alarm:
        return (
            f"model check: no alarm over {check.symbols:,} released symbols (level "
            f"{check.level:.0%}); it does not see what noise hides",
        )
    worst, names = check.deviations[0], [str(symbol) for symbol in alphabet]
    if isinstance(inner, RepeatingMechanism):
        names += [f"{symbol} again" for symbol in alphabet]
    names.append("the beginning of a stream")
    after = "" if worst.after is None else f" after {names[worst.after]}"
    text = (
        f"MODEL ALARM: releases do not agree with the model of {promise.pipeline}. "
        f"{names[worst.outcome]}{after} was released {worst.released:,.0f} times, and "
        f"the model expects {worst.expected:,.0f} (z = {worst.z:+.1f}, p = {worst.p:.1g}). Shares "
        "are biased by an amount that bars do not show, and more data does not remove: have a "
        "model learned from such users, or use a kind without a model"
    )
    warnings.warn(text, ModelAlarm, stacklevel=5)
    return (text,)


def _about_learned(cold: ColdStart, users: Integers) -> Sequence[str]:
    """Return how many records were released under learned models, if any were."""
    late = int(np.maximum(np.bincount(users) - cold.positions, 0).sum())
    return (_LEARNED.format(late=late, records=len(users)),) if late else ()
