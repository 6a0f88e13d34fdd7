"""Mechanisms of single records by name, and what configures them.

>>> mechanism("laplace", lower=0, upper=100, epsilon=0.5, budget=3.0).kind
'laplace'
>>> mechanism("pba", epsilon=1.0)  # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
ValueError: pba: no mechanism of single records has this name; there are adaptive_crr, ...
"""

from typing import Any

from fugu.dataflows.kinds import KINDS
from fugu.operators.budget import Budgeted, without_budget
from fugu.operators.mechanism import Mechanism, TimedMechanism
from fugu.operators.sip.distances import Hamming, Ordered, Points
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation

PER_RECORD = {
    kind: section.mechanism_class
    for kind, section in KINDS.items()
    if section.mechanism_class is not None
}
"""Mechanisms that release each record of a key by itself, by the kind of pipeline files."""

_INSTEAD = (
    "Mechanisms of sums over people, and of ticks of event time, need all records of a tick: "
    "write a pipeline file with this kind, and use fugu run"
)


def mechanism(
    kind: str, *, budget: float | None = None, accept_unsound: bool = False, **parameters: Any
) -> Mechanism:
    """Configure a mechanism by the name that pipeline files give it.

    `parameters` are those of its class, such as `symbols` and `epsilon`. `budget` is what a key
    may spend in all, in nats; then its last release is repeated, or what else `Budgeted` offers.
    What breaks the claim of its own paper is refused, unless `accept_unsound`.
    """
    if kind not in PER_RECORD:
        known = ", ".join(sorted(PER_RECORD))
        raise ValueError(
            f"{kind}: no mechanism of single records has this name; there are {known}. {_INSTEAD}"
        )
    configured = PER_RECORD[kind](**parameters)
    if not accept_unsound and not all(one.sound for one in configured.guarantees()):
        raise ValueError(
            f"{kind} promises nothing as it is configured, and is a baseline for comparison: "
            "choose another one, or write accept_unsound=True if you know why you want it"
        )
    if budget is not None and isinstance(configured, TemporalPerturbation):
        raise ValueError(f"budget: {kind} charges nothing per release; leave it out")
    released: Mechanism = configured if budget is None else Budgeted(configured, budget)
    return released


def checked_per_record(given: Mechanism) -> Mechanism:
    """Return the mechanism if it releases each record of a key by itself; refuse it otherwise."""
    if not isinstance(without_budget(given), tuple(PER_RECORD.values())):
        raise ValueError(f"{given.kind} does not release single records. {_INSTEAD}")
    if isinstance(given, TimedMechanism) and given.tick_milliseconds is not None:
        raise ValueError(
            f"{given.kind} with gaps needs the event time of every record: leave gaps out, or "
            "write a pipeline file with step, and use fugu run"
        )
    return given


__all__ = ["PER_RECORD", "Budgeted", "Hamming", "MarkovModel", "Ordered", "Points", "mechanism"]
