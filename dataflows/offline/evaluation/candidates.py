"""What is compared: the pipeline as it is, with other epsilons, and with rival operators.

Epsilon counts nats per record, for every kind (`equal_nats`). A rival has the pipeline's budget and
everything that the pipeline file says about values and model, so a new kind of operator is compared
with those that read the same values without a word about it here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite

from pydantic import ValidationError

from fugu.dataflows.base.errors import ConfigurationError, FuguError
from fugu.dataflows.offline.evaluation.equal_nats import (
    missing,
    nats_per_record,
    same_domain,
    spending,
)
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.operators.budget import without_budget
from fugu.operators.mechanism import Guarantee, Mechanism, Notion
from fugu.operators.sip.batches.batched_release import BatchedRelease

_SPENDING = {"epsilon", "epsilon_per_batch", "window", "decision_epsilon"}


@dataclass(frozen=True, eq=False)
class Candidate:
    """One configured operator, under the pipeline's budget.

    `epsilon` counts nats per record; `settings` is how the operator section says so.
    """

    kind: str
    epsilon: float
    mechanism: Mechanism
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The kind, and the length of its lists where it releases lists."""
        listed = isinstance(self.unbudgeted, BatchedRelease)
        return f"{self.kind} of {self.records_per_release}" if listed else self.kind

    @property
    def unbudgeted(self) -> Mechanism:
        """The mechanism without its budget."""
        return without_budget(self.mechanism)

    @property
    def records_per_release(self) -> int:
        """How many records one fresh release is about."""
        inside = self.unbudgeted
        return inside.window if isinstance(inside, BatchedRelease) else 1

    @property
    def sound(self) -> bool:
        """Whether what it claims holds."""
        return all(guarantee.sound for guarantee in self.mechanism.guarantees())

    def per_release(self, notion: Notion) -> float | None:
        """Nats that one release may leak in this notion."""
        return _nats(self.unbudgeted.guarantees(), notion, "release")

    def per_record(self, notion: Notion) -> float | None:
        """A record's share of these."""
        nats = self.per_release(notion)
        return None if nats is None else nats / self.records_per_release

    def per_stream(self, notion: Notion) -> float | None:
        """Nats that all releases of a stream may leak together, where a budget limits them."""
        return _nats(self.mechanism.guarantees(), notion, "stream")


def _nats(guarantees: Sequence[Guarantee], notion: Notion, per: str) -> float | None:
    """What is ldp for every prior is sip with as much under the declared one (Theorem 3)."""
    stated = {g.notion: g.epsilon for g in guarantees if g.sound and g.per == per}
    return stated.get(notion, stated.get("ldp") if notion == "sip" else None)


def default_epsilons(file: PipelineFile) -> list[float]:
    """Half the configured one, itself, and its double where the operator takes it."""
    configured = nats_per_record(file.pipeline.operator)
    epsilons = (configured / 2.0, configured, configured * 2.0)
    return [one.epsilon for one in _possible(file, file.pipeline.operator.kind, epsilons)]


def default_rivals(file: PipelineFile, epsilons: Sequence[float]) -> list[Candidate]:
    """All other kinds that read the same values and need nothing that the pipeline file does not
    have, with the epsilons that they take."""
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
    """The pipeline's own operator first, then its rivals, each with every epsilon."""
    own = file.pipeline.operator.kind
    kinds = list(dict.fromkeys((own, *rivals)))
    for kind in kinds:
        _require_comparable(file, kind)
    return [_stated(file, kind, epsilon) for kind in kinds for epsilon in epsilons]


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
    """What somebody asked for: if it cannot be, that is an error."""
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
    """Where a budget would stop the pipeline, releases are suppressed: the sample goes on."""
    pipeline = file.pipeline
    operator = spending(pipeline.operator, kind, epsilon)
    budget = pipeline.budget
    if budget is not None and budget.when_exhausted == "stop":
        budget = budget.model_copy(update={"when_exhausted": "suppress"})
    changed = pipeline.model_copy(update={"operator": operator, "budget": budget})
    mechanism = configure(file.replacing(changed)).mechanism
    return Candidate(kind, epsilon, mechanism, operator.model_dump(include=_SPENDING))
