"""Choose operators that read the same values, with the pipeline's budget, at equal nats per record.

A rival has everything that the pipeline file says about values and model, and the distance that is
to be kept small; all else keeps its default. So a new kind of operator is compared with those that
read the same values without a word about it here. Epsilon is that of one record, relative to a
model where there is one (SIP specification, section 10).
"""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from fugu.dataflows.base.errors import ConfigurationError, FuguError
from fugu.dataflows.base.problems import problems
from fugu.dataflows.kinds import KINDS, Operator
from fugu.dataflows.offline.evaluation.candidates import Candidate, chosen_epsilons
from fugu.dataflows.offline.evaluation.records.pooled import pooled_beside
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure

_SPENDING = {"epsilon", "epsilon_per_batch", "window", "decision_epsilon"}
"""Names what sections say about their spending."""
_WHEN = frozenset({"ticks"})
"""Names what sections say about when a release is due: rivals without it count records."""
_ORDERED = {
    **dict.fromkeys(("crr", "batched_crr", "cold_start_crr", "pim"), "ordered"),
    "adaptive_crr": "steps",
}
"""Names the distance between places in the alphabet, as kinds call it."""


def default_epsilons(file: PipelineFile) -> list[float]:
    """Return half the configured one, itself, and its double where the operator takes it."""
    operator = file.pipeline.operator
    epsilons = chosen_epsilons(operator.nats_per_record, None)
    return [one.epsilon for one in _possible(file, operator.kind, epsilons)]


def default_rivals(file: PipelineFile, epsilons: Sequence[float]) -> list[Candidate]:
    """Return all other kinds that read the same values and need nothing else, where they go."""
    operator = file.pipeline.operator
    kinds = [kind for kind in _same_domain(operator) if not _missing(operator, kind)]
    alike = [kind for kind in kinds if KINDS[kind].promises_per == operator.promises_per]
    others = [kind for kind in alike if kind != operator.kind]
    return [rival for kind in others for rival in _possible(file, kind, epsilons)]


def candidates(
    file: PipelineFile, epsilons: Sequence[float], rivals: Sequence[str]
) -> list[Candidate]:
    """Return the pipeline's own operator first, then its rivals, each with every epsilon."""
    kinds = list(dict.fromkeys((file.pipeline.operator.kind, *rivals)))
    for kind in kinds:
        _require_comparable(file.pipeline.operator, kind)
    return [_stated(file, kind, epsilon) for kind in kinds for epsilon in epsilons]


def _same_domain(operator: Operator) -> list[str]:
    in_ticks = operator.in_ticks() is not None
    return [
        kind
        for kind, section in KINDS.items()
        if section.evaluation == operator.evaluation
        and section.reads - _WHEN == operator.reads - _WHEN
        and (section.reads >= _WHEN or not in_ticks)
    ]


def _missing(operator: Operator, kind: str) -> list[str]:
    """Return what this kind requires and `operator` does not have."""
    has = _SPENDING | set(type(operator).model_fields)
    return [name for name in _required(KINDS[kind]) if name not in has]


def _required(section: type[Any]) -> list[str]:
    return [name for name, field in section.model_fields.items() if field.is_required()]


def _require_comparable(operator: Operator, kind: str) -> None:
    alike = _same_domain(operator)
    if kind not in alike:
        raise FuguError(
            f"--rivals {kind}: is no operator that reads the same values as "
            f"{operator.kind}. Write some of: {', '.join([*alike, *pooled_beside(operator)])}"
        )
    absent = _missing(operator, kind)
    if absent:
        raise FuguError(
            f"--rivals {kind}: needs {', '.join(f'operator.{name}' for name in absent)}, which the "
            f"pipeline file does not have. Start from a pipeline file of kind {kind}, and give "
            f"{operator.kind} as the rival"
        )


def _possible(file: PipelineFile, kind: str, epsilons: Sequence[float]) -> Iterator[Candidate]:
    for epsilon in epsilons:
        try:
            yield _candidate(file, kind, epsilon)
        except (ValidationError, ConfigurationError):
            continue


def _stated(file: PipelineFile, kind: str, epsilon: float) -> Candidate:
    """Return what somebody asked for; raise `FuguError` if it cannot be."""
    try:
        return _candidate(file, kind, epsilon)
    except ValidationError as error:
        location, advice = next(problems(error, KINDS[kind]))
        reason = f"{'.'.join(map(str, location))} {advice}"
    except ConfigurationError as error:
        reason = str(error)
    raise FuguError(f"--epsilons {epsilon:g}: {kind} cannot take it ({reason})")


def _candidate(file: PipelineFile, kind: str, epsilon: float) -> Candidate:
    """Suppress releases where a budget would stop the pipeline: the sample goes on."""
    pipeline = file.pipeline
    operator, budget = _at(pipeline.operator, kind, epsilon), pipeline.budget
    if budget is not None and budget.when_exhausted == "stop":
        budget = budget.model_copy(update={"when_exhausted": "suppress"})
    changed = pipeline.model_copy(update={"operator": operator, "budget": budget})
    mechanism = configure(file.replacing(changed)).mechanism
    return Candidate(kind, epsilon, mechanism, operator.model_dump(include=_SPENDING))


def _at(operator: Operator, kind: str, epsilon: float) -> Operator:
    """Return an operator of this kind with so many nats per record: `operator` if it is one."""
    own, section = kind == operator.kind, KINDS[kind]
    windows = section.promises_per == operator.promises_per == "window"
    if own and epsilon == operator.nats_per_record:
        return operator
    taken = operator.model_fields_set if own else {*_required(section), *section.reads}
    accepted = {"accept_unsound": True, "when_short": "accept", "accept_growing_loss": True}
    return section.model_validate(
        {
            **operator.model_dump(include=set(taken)),
            **{name: value for name, value in accepted.items() if name in section.model_fields},
            **({} if own else _distance(operator, kind)),
            "kind": kind,
            **section.spending(epsilon, operator if own or windows else None),
        }
    )


def _distance(operator: Operator, kind: str) -> dict[str, object]:
    """Return the pipeline's own distance as this kind calls it, as far as it knows it."""
    match operator.model_dump(include={"distance"}):
        case {"distance": "ordered" | "steps"} if kind in _ORDERED:
            return {"distance": _ORDERED[kind]}
        case {"distance": dict(points)} if kind in _ORDERED:
            return {"distance": points}
    return {}
