"""Choose operators that read the same values, with the pipeline's budget, at equal nats per record.

A rival has everything that the pipeline file says about values and model, so a new kind of operator
is compared with those that read the same values without a word about it here.
"""

from collections.abc import Iterator, Sequence

from pydantic import ValidationError

from fugu.dataflows.base.errors import ConfigurationError, FuguError
from fugu.dataflows.offline.evaluation.candidates import Candidate, chosen_epsilons
from fugu.dataflows.offline.evaluation.records.equal_nats import (
    SPENDING,
    missing,
    nats_per_record,
    same_domain,
    spending,
)
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.pipeline.pipeline_file import PipelineFile


def default_epsilons(file: PipelineFile) -> list[float]:
    """Return half the configured one, itself, and its double where the operator takes it."""
    operator = file.pipeline.operator
    epsilons = chosen_epsilons(nats_per_record(operator), None)
    return [one.epsilon for one in _possible(file, operator.kind, epsilons)]


def default_rivals(file: PipelineFile, epsilons: Sequence[float]) -> list[Candidate]:
    """Return all other kinds that read the same values, with the epsilons that they take.

    They need nothing that the pipeline file does not have.
    """
    operator = file.pipeline.operator
    return [
        rival
        for kind in same_domain(operator)
        if kind != operator.kind and not missing(operator, kind)
        for rival in _possible(file, kind, epsilons)
    ]


def candidates(
    file: PipelineFile, epsilons: Sequence[float], rivals: Sequence[str]
) -> list[Candidate]:
    """Return the pipeline's own operator first, then its rivals, each with every epsilon."""
    kinds = list(dict.fromkeys((file.pipeline.operator.kind, *rivals)))
    for kind in kinds:
        _require_comparable(file, kind)
    return [_stated(file, kind, epsilon) for kind in kinds for epsilon in epsilons]


def _require_comparable(file: PipelineFile, kind: str) -> None:
    operator = file.pipeline.operator
    if kind not in same_domain(operator):
        raise FuguError(
            f"--rivals {kind}: is no operator that reads the same values as "
            f"{operator.kind}. Write some of: {', '.join(same_domain(operator))}"
        )
    absent = missing(operator, kind)
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
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        reason = f"{where} {problem['msg'].lower()}"
    except ConfigurationError as error:
        reason = str(error)
    raise FuguError(f"--epsilons {epsilon:g}: {kind} cannot take it ({reason})")


def _candidate(file: PipelineFile, kind: str, epsilon: float) -> Candidate:
    """Suppress releases where a budget would stop the pipeline: the sample goes on."""
    pipeline = file.pipeline
    operator = spending(pipeline.operator, kind, epsilon)
    budget = pipeline.budget
    if budget is not None and budget.when_exhausted == "stop":
        budget = budget.model_copy(update={"when_exhausted": "suppress"})
    changed = pipeline.model_copy(update={"operator": operator, "budget": budget})
    mechanism = configure(file.replacing(changed)).mechanism
    return Candidate(kind, epsilon, mechanism, operator.model_dump(include=set(SPENDING)))
