"""Share what aggregates under a policy document have in common."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    InstanceOf,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.base.section import Epsilon, Section, named_file
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.kinds.families.aggregates import AggregateOperator
from fugu.dataflows.kinds.families.section import Files
from fugu.dataflows.kinds.families.ticks import Lateness
from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.sections import QuerySection
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.contributions import Contributions, Figures, SetContributions, YesOrNo
from fugu.dataflows.records.numbers import Numbers
from fugu.dataflows.records.values import Values
from fugu.operators.mechanism import Mechanism
from fugu.operators.swellfish.relevance import Status
from fugu.operators.swellfish.strategy import PolicyStrategy
from fugu.operators.swellfish.timeline import Policies


class TicksOfDocument(Lateness):
    """Let ticks be as long as the policy document says."""

    max_jump: int = Field(default=100, ge=1)
    """Say how many ticks a record may be ahead of those that are open."""


class Noisy(Section):
    """Add noise for a whole contribution, with so many nats, where no policy asks for any."""

    noisy: Annotated[Epsilon, Field(le=20)]
    """The nats of that noise."""


def _document(given: object, about: ValidationInfo) -> object:
    if not isinstance(given, str):
        raise ValueError("name the file of a policy document")
    try:
        return PolicyDocument.read(named_file(given, about))
    except ConfigurationError as error:
        raise ValueError(str(error)) from None


class PolicyOperator(AggregateOperator):
    """Release what the document's query asks of each tick, under its policies.

    `source.value` names the field of a sum, of a yes or no that is counted, or of a group or a list
    of groups. `window` is for strategies that do not look at intervals.
    """

    example = "policies: policies.yaml\n"
    protected = "what the policies of a person hide, per relevance interval"
    reads = frozenset({"groups", "other", "ticks"})
    under_policies = True
    published_whole = False  # the document says who has which policy
    source_budget = False
    evaluation = "policies"
    strategy_class: ClassVar[type[PolicyStrategy[Any]]]
    windowed: ClassVar[bool] = False
    """Say whether budgets are spread over windows, and not over relevance intervals."""

    policies: Annotated[
        InstanceOf[PolicyDocument],
        BeforeValidator(_document),
        WithJsonSchema({"type": "string"}),
    ]
    """The policy document: what to hide, and when."""
    ticks: TicksOfDocument = TicksOfDocument()
    """Say how late records may be; the document says how long ticks are."""
    irrelevant: Literal["repeat", "exact"] | Noisy = "repeat"
    """Say what is published where no policy asks for anything."""
    window: int | None = Field(default=None, ge=1, le=100_000)
    """The ticks that share a budget, for kinds that do not look at intervals."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        query = self.query.kind
        if (self.groups is not None) != (query == "histogram"):
            raise ValueError(
                f"groups: are those of a histogram, and the query of the document is {query}"
            )
        if self.windowed and self.window is None:
            raise ValueError(f"window: {self.kind} needs it: the ticks of the longest interval")
        if not self.windowed and self.window is not None:
            raise ValueError(f"window: {self.kind} goes by intervals; delete it")
        return self

    def strategy(self, epsilon: float | None = None) -> PolicyStrategy[Any]:
        """Return the strategy, with the epsilon of the document if none is given."""
        spent = epsilon or self.policies.section.epsilon
        windows = [] if self.window is None else [self.window]
        irrelevant = self.irrelevant if isinstance(self.irrelevant, str) else self.irrelevant.noisy
        made: type[Any] = self.strategy_class
        strategy: PolicyStrategy[Any] = made(
            self.timeline, self.group_count, spent, *windows, irrelevant=irrelevant
        )
        return strategy

    def mechanism(self, files: Files) -> Mechanism:
        return self.strategy()

    def values(self, fields: Sequence[str]) -> Values:
        query, field = self.query, fields[0]
        match query.kind:
            case "sum":
                numbers = Numbers(field, units_per_one=self.units_per_one)
                lower, upper = query.lower_units, query.upper_units
                return Contributions(None, numbers, lower=lower, upper=upper)
            case "count":
                return Contributions(None, YesOrNo(field))
            case "histogram":
                return Contributions(Alphabet(field, self.bins, other=self.other), None)
            case "multi_histogram":
                return SetContributions(Alphabet(field, self.bins))

    @property
    def timeline(self) -> Policies:
        """Return the policies of the document over time."""
        return self.policies.policies

    @property
    def query(self) -> QuerySection:
        """Return what is published of a tick."""
        return self.policies.section.query

    @property
    def bins(self) -> list[str] | list[int]:
        """Return the groups of a histogram, or the activities of several; empty for one figure."""
        return self.groups or self.policies.section.activities or []

    def covers(self, key: bytes) -> bool:
        return self.policies.collection_of(key) is not None

    @property
    def sets(self) -> bool:
        return self.query.kind == "multi_histogram"

    @property
    def group_count(self) -> int:
        several = self.query.kind in ("histogram", "multi_histogram")
        return len(self.bins) if several else 1

    @property
    def units_per_one(self) -> int:
        return self.query.units_per_one

    @property
    def largest_contribution(self) -> int:
        return self.query.largest_units

    @property
    def sensitivity(self) -> int:
        return self.timeline.largest_sensitivity

    @property
    def statistic(self) -> str:
        query = self.query
        if query.kind == "sum":
            return "the sum" + ("" if query.unit is None else f" in {query.unit}")
        return "how many users"

    def in_ticks(self) -> Ticks:
        grid, grace = self.policies.section.grid, self.ticks.grace_milliseconds
        time = self.ticks.stream_time.as_declared
        return Ticks(grid.milliseconds, grace, self.ticks.max_jump, time=time)

    def figures(self) -> Figures:
        groups = self.bins if self.group_count > 1 else None
        words = {"status": ("status", [status.name.lower() for status in Status])}
        return Figures(groups, units_per_one=self.units_per_one, words=words)

    def published(self) -> dict[str, Any]:
        """Return what readers of figures may know: no policy, and nobody who has one."""
        groups = {} if self.group_count == 1 else {"groups": list(self.bins)}
        return {"kind": self.kind, "statistic": self.statistic, **groups}

    def parameters(self) -> dict[str, object]:
        collections = self.timeline.collections
        policies = sum(len(collection.policies) for collection in collections)
        irrelevant = self.irrelevant
        return {
            **self.in_words(),
            "epsilon": f"{self.policies.section.epsilon:g} nats in any relevance interval",
            "policies": f"{policies} in {len(collections)} collections of the document",
            "where nothing is relevant": (
                {"repeat": "the last release again", "exact": "the exact figure is published"}[
                    irrelevant
                ]
                if isinstance(irrelevant, str)
                else f"noise for a whole contribution, with {irrelevant.noisy:g} nats"
            ),
        }

    def how_to_read(self) -> list[str]:
        return [
            "status says what became of a tick: sampled (the true figure plus noise), repeated "
            "(the last published one again), exact, noisy, or nothing (null: no figure yet).",
            "standard_error is that of the noise in value, at the tick it was published for.",
            "records that came late, users without policies, and users beyond state.max_keys are "
            "not in the figures.",
        ]
