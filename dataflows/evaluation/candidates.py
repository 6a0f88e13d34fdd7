"""What is compared: the pipeline as it is, with other epsilons, and with rival operators.

A rival gets from the pipeline file what its own section requires or reads; everything else keeps
its default. So a new kind of operator is compared with those that read the same values without a
word about it here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, get_args

from pydantic import ValidationError

from dataflows.errors import FuguError
from dataflows.mechanisms import configure
from dataflows.operator_sections import Operator
from dataflows.pipeline_file import PipelineFile
from operators.budget import Budgeted
from operators.mechanism import Guarantee, Mechanism, Notion

_NOT_ONE_FOR_ONE = ("adaptive_crr", "batched_crr", "cold_start_crr")


@dataclass(frozen=True, eq=False)
class Candidate:
    """One configured operator, under the pipeline's budget."""

    kind: str
    epsilon: float
    mechanism: Mechanism

    @property
    def unbudgeted(self) -> Mechanism:
        """The mechanism without its budget."""
        return self.mechanism.mechanism if isinstance(self.mechanism, Budgeted) else self.mechanism

    @property
    def sound(self) -> bool:
        """Whether what it claims holds."""
        return all(guarantee.sound for guarantee in self.mechanism.guarantees())

    def per_release(self, notion: Notion) -> float | None:
        """Nats that one release may leak in this notion."""
        return _nats(self.unbudgeted.guarantees(), notion, "release")

    def per_stream(self, notion: Notion) -> float | None:
        """Nats that all releases of a stream may leak together, where a budget limits them."""
        return _nats(self.mechanism.guarantees(), notion, "stream")


def _nats(guarantees: Sequence[Guarantee], notion: Notion, per: str) -> float | None:
    """What is ldp for every prior is sip with as much under the declared one (Theorem 3)."""
    stated = {g.notion: g.epsilon for g in guarantees if g.sound and g.per == per}
    return stated.get(notion, stated.get("ldp") if notion == "sip" else None)


def default_epsilons(file: PipelineFile) -> list[float]:
    """Half the configured one, itself, and its double where the operator takes it."""
    configured = float(file.pipeline.operator.epsilon)
    found = []
    for epsilon in (configured / 2.0, configured, configured * 2.0):
        try:
            _with_operator(file, file.pipeline.operator.kind, epsilon)
        except ValidationError:
            continue
        found.append(epsilon)
    return found


def default_rivals(file: PipelineFile) -> list[str]:
    """All kinds that read the same values and need nothing that the pipeline file does not have."""
    return [kind for kind in _same_domain(file) if not _missing(file, kind)]


def candidates(
    file: PipelineFile, epsilons: Sequence[float], rivals: Sequence[str]
) -> list[Candidate]:
    """The pipeline's own operator first, then its rivals, each with every epsilon."""
    own = file.pipeline.operator.kind
    kinds = list(dict.fromkeys((own, *rivals)))
    for kind in kinds:
        _require_comparable(file, kind)
    return [
        Candidate(kind, epsilon, configure(_changed(file, kind, epsilon)).mechanism)
        for kind in kinds
        for epsilon in epsilons
    ]


def parse_epsilons(text: str) -> list[float]:
    """Positive numbers with commas between them, in order, each once."""
    try:
        epsilons = sorted({float(word) for word in text.split(",")})
    except ValueError:
        epsilons = []
    if not epsilons or not all(isfinite(epsilon) and epsilon > 0.0 for epsilon in epsilons):
        raise FuguError(
            f"--epsilons {text}: write positive numbers with commas between them, such as 0.5,1,2"
        )
    return epsilons


def _sections() -> dict[str, type[Any]]:
    """Every kind of operator that a pipeline file may name, and its section."""
    union, _ = get_args(Operator)
    return {
        kind: section
        for section in get_args(union) or (union,)
        for kind in get_args(section.model_fields["kind"].annotation)
    }


def _same_domain(file: PipelineFile) -> Iterator[str]:
    reads = file.pipeline.operator.reads
    return (
        kind
        for kind, section in _sections().items()
        if section.reads == reads and kind not in _NOT_ONE_FOR_ONE
    )


def _require_comparable(file: PipelineFile, kind: str) -> None:
    if kind in _NOT_ONE_FOR_ONE:
        raise FuguError(
            f"fugu evaluate compares operators that release one symbol for each record by itself, "
            f"and {kind} does not. Evaluate kind: crr, and read docs/guarantees.md on {kind}"
        )
    if kind not in _same_domain(file):
        raise FuguError(
            f"--rivals {kind}: is no operator that reads the same values as "
            f"{file.pipeline.operator.kind}. Write some of: {', '.join(_same_domain(file))}"
        )
    missing = _missing(file, kind)
    if missing:
        raise FuguError(
            f"--rivals {kind}: needs {', '.join(missing)}, which the pipeline file does not have. "
            f"Start from a pipeline file of kind {kind}, and give {file.pipeline.operator.kind} "
            "as the rival"
        )


def _missing(file: PipelineFile, kind: str) -> list[str]:
    has = type(file.pipeline.operator).model_fields
    return [f"operator.{name}" for name in _required(_sections()[kind]) if name not in has]


def _required(section: type[Any]) -> list[str]:
    return [name for name, field in section.model_fields.items() if field.is_required()]


def _changed(file: PipelineFile, kind: str, epsilon: float) -> PipelineFile:
    try:
        return _with_operator(file, kind, epsilon)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise FuguError(
            f"--epsilons {epsilon:g}: {kind} cannot take it ({where} {problem['msg'].lower()})"
        ) from None


def _with_operator(file: PipelineFile, kind: str, epsilon: float) -> PipelineFile:
    """Where a budget would stop the pipeline, releases are suppressed: the sample goes on."""
    pipeline, section = file.pipeline, _sections()[kind]
    operator = pipeline.operator
    if kind == operator.kind:
        taken = set(operator.model_fields_set)
    else:
        taken = {*_required(section), *section.reads}
    settings = operator.model_dump(include=taken)
    if "accept_unsound" in section.model_fields:
        settings["accept_unsound"] = True
    changed = section.model_validate({**settings, "kind": kind, "epsilon": epsilon})
    budget = pipeline.budget
    if budget is not None and budget.when_exhausted == "stop":
        budget = budget.model_copy(update={"when_exhausted": "suppress"})
    return file.replacing(pipeline.model_copy(update={"operator": changed, "budget": budget}))
