"""Let an operator of any kind spend so many nats per record as a pipeline of another kind.

Epsilon is that of one record, relative to a model where there is one: `epsilon_per_batch` divided
by `window` (SIP specification, section 10), the two epsilons of `adaptive_crr` together. What a
rival requires or reads is taken from the pipeline's own operator, and so is the distance that is to
be kept small; everything else keeps its default.
"""

from collections.abc import Iterator
from typing import Any

from fugu.dataflows.kinds import KINDS, Operator
from fugu.dataflows.kinds.adaptive_crr import AdaptiveCrrOperator
from fugu.dataflows.kinds.batched_crr import BatchedCrrOperator

RIVAL_WINDOW = 2
RIVAL_DECISION = 0.25
"""The share of a record's nats that a rival `adaptive_crr` spends on its decision."""
SPENDING = frozenset({"epsilon", "epsilon_per_batch", "window", "decision_epsilon"})
"""What a section says about its spending, which is set here."""


def nats_per_record(operator: Operator) -> float:
    """Return what a record may cost, relative to a model where there is one."""
    return operator.nats_per_release / operator.records_per_release


def same_domain(operator: Operator) -> list[str]:
    """Return the kinds that read the same values."""
    return [kind for kind, section in KINDS.items() if section.reads == operator.reads]


def missing(operator: Operator, kind: str) -> list[str]:
    """Return what this kind requires and `operator` does not have."""
    has = SPENDING | set(type(operator).model_fields)
    return [name for name in _required(KINDS[kind]) if name not in has]


def spending(operator: Operator, kind: str, epsilon: float) -> Operator:
    """Return an operator of this kind with `epsilon` nats per record.

    That is `operator` itself where it is one; raise `ValidationError` where the kind cannot take
    it.
    """
    own = kind == operator.kind
    if own and epsilon == nats_per_record(operator):
        return operator
    section = KINDS[kind]
    taken = operator.model_fields_set if own else {*_required(section), *section.reads}
    settings = operator.model_dump(include=set(taken))
    accepted = {"accept_unsound": True, "when_short": "accept"}
    settings |= {name: value for name, value in accepted.items() if name in section.model_fields}
    if not own:
        settings |= _distance(operator, kind)
    made: Operator = section.model_validate(
        {**settings, "kind": kind, **_epsilons(operator, kind, epsilon)}
    )
    return made


def _epsilons(operator: Operator, kind: str, epsilon: float) -> dict[str, object]:
    """Return what this kind spends; the own operator keeps its window, or its proportions."""
    if kind == "batched_crr":
        if isinstance(operator, BatchedCrrOperator):
            return {"epsilon_per_batch": operator.window * epsilon}
        window = RIVAL_WINDOW
        return {"window": window, "epsilon_per_batch": window * epsilon, "kernel": "heuristic"}
    if kind == "adaptive_crr":
        share = RIVAL_DECISION
        if isinstance(operator, AdaptiveCrrOperator):
            share = operator.decision_epsilon / nats_per_record(operator)
        return {"decision_epsilon": share * epsilon, "epsilon": epsilon - share * epsilon}
    return {"epsilon": epsilon}


def _distance(operator: Operator, kind: str) -> dict[str, object]:
    """Return the pipeline's own distance, as far as this kind knows it."""
    declared = operator.model_dump(include={"distance"})
    if isinstance(operator, AdaptiveCrrOperator):
        declared = {"distance": "ordered"} if operator.distance == "steps" else {}
    if kind in ("crr", "batched_crr"):
        return declared
    known = kind == "adaptive_crr" and declared == {"distance": "ordered"}
    return {"distance": "steps"} if known else {}


def _required(section: type[Any]) -> Iterator[str]:
    return (name for name, field in section.model_fields.items() if field.is_required())
