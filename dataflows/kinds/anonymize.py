from collections.abc import Sequence
from datetime import timedelta
from fractions import Fraction
from math import comb
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema, model_validator

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.base.field_paths import FieldName, released_name
from fugu.dataflows.base.section import named_file
from fugu.dataflows.base.ticks import AS_JSON, MILLISECOND, Ticks, duration, whole_milliseconds
from fugu.dataflows.files.yaml_file import problems_of, read_taxonomy, taxonomy_of
from fugu.dataflows.kinds.families.aggregates import TickSection
from fugu.dataflows.kinds.families.section import Evaluation, Files, OperatorSection
from fugu.dataflows.records.values import Values
from fugu.dataflows.records.visits import AnonymousRecords, Visits
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.stages.stage_kind import StageKind
from fugu.dataflows.stages.windows import Gathering
from fugu.operators.anonymity.anonymization import Anonymization
from fugu.operators.anonymity.knowledge import LARGEST_WINDOW
from fugu.operators.anonymity.suppression import Taxonomy
from fugu.operators.anonymity.windows import AnonymizedWindows
from fugu.operators.mechanism import Mechanism

_MOST_POINTS = 1_000
"""So many points of a person fit a message."""
_OWN_FIELDS = ("start", "points")
"""Fields of a release that are not those of the source."""


def _tree(given: object, about: ValidationInfo) -> object:
    if isinstance(given, str):
        try:
            return read_taxonomy(named_file(given, about))
        except ConfigurationError as error:
            raise ValueError(str(error)) from None
    for place, problem in problems_of(given):
        raise ValueError(f"{'.'.join(map(str, place)) or 'the tree'}: {problem}")
    return given


def _share(given: object) -> object:
    text = str(given) if isinstance(given, str | int | float) else ""
    try:
        return str(Fraction(text))
    except (ValueError, ZeroDivisionError):
        raise ValueError("write a share between 0 and 1, such as 1/2 or 0.4") from None


class AnonymizeOperator(OperatorSection):
    """Release where people were in a window, and what is sensitive, with few points kept (K, rho).

    `source.value` names the field that holds the location. A window is a tick.
    """

    order = 900
    example = (
        "sensitive: diagnosis\n"
        "taxonomy: {Disease: {Virus: [Dengue, H1N1], Bacteria: [Cholera], Lung: [Asthma]}}\n"
        "privacy_height: 2\nK: 5\nrho: 2\nquantum: 1h\nticks: {width: 1d}\n"
    )
    protected = (
        "who a record of a window is about, and the sensitive value, from those who know `rho` "
        "points of a person and nothing else; no differential privacy"
    )
    reads = frozenset({"sensitive", "taxonomy", "quantum", "ticks", "linked"})
    stage = StageKind.WINDOW
    on_disk_because = "a window may take longer to anonymise than a Kafka transaction lasts"
    evaluation: ClassVar[Evaluation] = "anonymity"
    claims_about = "the people of a window"
    source_budget = False
    no_budget = "{kind} spends nothing: its promise is about a window, whatever was released before"
    no_dedupe = "a copy of a record says the same point of the same window again"
    no_original_key = (
        "{kind} hides who a record is about; write key: pseudonym, a fresh one in each window, or "
        "key: none"
    )

    kind: Literal["anonymize"]
    sensitive: FieldName
    """The field that holds the sensitive value, a name in the taxonomy."""
    taxonomy: Annotated[
        dict[str, object],
        BeforeValidator(_tree),
        WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]}),
    ]
    """The tree of sensitive values: a YAML file, or the tree itself."""
    privacy_height: int = Field(ge=2)
    """The level that sensitive values are generalised to; the root is level 1."""
    K: int = Field(ge=2, le=1_000_000)
    """The fewest people behind any points that somebody may know."""
    rho: int = Field(ge=1, le=6)
    """Say how many points of a person somebody may know."""
    sigma: Annotated[
        str,
        BeforeValidator(_share),
        WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "number"}]}),
    ] = "1/2"
    """The largest share of one category among the records that match such points."""
    quantum: Annotated[timedelta, BeforeValidator(whole_milliseconds("1ms", "366d")), AS_JSON]
    """Say how exact the time of a point is; the width of a window is a multiple of it."""
    ticks: TickSection
    """Say how event time is cut into windows."""
    linked: bool = False
    """Say whether a person may have several sensitive values in a window, each with a record, which
    carry the same pseudonym."""
    min_people: int | None = Field(default=None, ge=2)
    """The fewest people of a window that is released; by default twice K."""
    max_people: int = Field(default=100_000, ge=2, le=1_000_000)
    """The most people of a window; each partition takes its share."""
    max_points: int = Field(default=60, ge=1, le=_MOST_POINTS)
    """The most points of a person in a window."""
    procedure: Literal["repair", "thesis"] = Field(default="repair", alias="stage")
    """Write `thesis` for the algorithm of the thesis alone, which attacks break."""
    accept_unsound: bool = False
    """Say that a baseline which attacks break is wanted."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not 0 < self.confidence < 1:
            raise ValueError("sigma: write a share above 0 and below 1, such as 1/2 or 0.4")
        if self.ticks.width % self.quantum:
            raise ValueError(
                "quantum: the width of a window (ticks.width) must be a multiple of it"
            )
        if self.fewest < self.K:
            raise ValueError(f"min_people: must be at least K ({self.K})")
        if self.fewest > self.max_people:
            raise ValueError(
                f"max_people: must be at least {self.fewest:,}, the fewest people of a window that "
                "is released"
            )
        if self._most_of_a_person * 100 > LARGEST_WINDOW:
            brings = f"{self._most_of_a_person:,}"
            raise ValueError(
                f"max_points: a person of {self.max_points} points brings {brings} "
                f"sub-trajectories of up to {self.rho} points, and a window of more than "
                f"{LARGEST_WINDOW:,} is suppressed for all: fewer than 100 people could do that. "
                "Lower max_points or rho"
            )
        if self.procedure == "thesis" and not self.accept_unsound:
            raise ValueError(
                "stage: thesis stops before the repair, and the attacks that it is against "
                "succeed on its own example; delete stage, or write accept_unsound: true to "
                "compare with it"
            )
        return self

    @property
    def confidence(self) -> Fraction:
        """Return sigma, exactly."""
        return Fraction(self.sigma)

    @property
    def _quantum(self) -> int:
        return self.quantum // MILLISECOND

    @property
    def _most_of_a_person(self) -> int:
        return sum(comb(self.max_points, known) for known in range(1, self.rho + 1))

    @property
    def fewest(self) -> int:
        """Return the fewest people of a window that is released."""
        return 2 * self.K if self.min_people is None else self.min_people

    @property
    def tree(self) -> Taxonomy:
        """Return the taxonomy."""
        return taxonomy_of(self.taxonomy)

    def mechanism(self, files: Files) -> Mechanism:
        return self.windows()

    def windows(
        self,
        fewest: int | None = None,
        people: int | None = None,
        known_points: int | None = None,
    ) -> AnonymizedWindows:
        """Return the mechanism, with other bounds where they are given."""
        anonymization = Anonymization(
            self.tree,
            self.privacy_height,
            people or self.K,
            known_points or self.rho,
            self.confidence,
            self.linked,
            self.procedure,
        )
        return AnonymizedWindows(
            anonymization, fewest or self.fewest, self.in_ticks().width, self._quantum
        )

    def values(self, fields: Sequence[str]) -> Values:
        return Visits(fields[0], self.sensitive, self.tree.names)

    def records(self, location: str) -> AnonymousRecords:
        """Return how releases are written."""
        return AnonymousRecords(location, self.sensitive, self.tree.names, self._quantum)

    def gathering(self, admission: Admission, ticks: Ticks | None = None) -> Gathering:
        """Return the stage that gathers the people of one partition, in its ticks or others."""
        return Gathering(
            ticks or self.in_ticks(),
            self._quantum,
            -(-self.max_people // admission.partitions),
            self.max_points,
            self.linked,
            admission,
        )

    def in_ticks(self) -> Ticks:
        ticks = self.ticks
        return Ticks(*ticks.milliseconds, ticks.max_jump, time=ticks.stream_time.as_declared)

    def check_fields(self, fields: Sequence[str], time: str | None, event: str | None) -> None:
        if self.sensitive in (*fields, time):
            raise ValueError("operator.sensitive: names the location or the time; name another one")
        for name in (self.sensitive, *fields):
            if released_name(name) in _OWN_FIELDS:
                raise ValueError(f"a release has a field {name} of its own; rename that field")

    def not_covered(self, *, copies: bool, budget: bool, partials: str) -> list[str]:
        return [
            "whoever reads the internal log or the state: both hold where people were, with their "
            f"keys and sensitive values ({partials})"
        ]

    def remarks(self, files: Files, mechanism: Mechanism) -> list[str]:
        assert isinstance(mechanism, AnonymizedWindows)
        found = [f"operator.{warning}" for warning in mechanism.anonymization.warnings]
        categories = len(set(mechanism.anonymization.categories.tolist()) - {0})
        if categories * self.confidence <= 1:
            found.append(
                f"operator.sigma: of {categories} categories one nearly always has more than "
                f"{self.confidence} of the records; then the window is suppressed. Raise sigma, or "
                "choose a privacy_height with more categories"
            )
        most = self._most_of_a_person
        if most * self.max_people > LARGEST_WINDOW:
            found.append(
                f"operator.max_people and max_points allow a window of {most * self.max_people:,} "
                f"sub-trajectories; one of more than {LARGEST_WINDOW:,} is suppressed. Lower them, "
                "unless windows are never so full"
            )
        if self.procedure == "thesis":
            found.append("operator.stage: thesis promises nothing, and attacks on it succeed")
        return found

    def parameters(self) -> dict[str, object]:
        ticks, tree = self.in_ticks(), self.tree
        share = Fraction(self.sigma)
        return {
            "windows": ticks.in_words,
            "stream time": ticks.time.in_words,
            "too far ahead": ticks.silence_in_words,
            "a point": f"a location and {duration(self.quantum // MILLISECOND)} of time; of "
            "several records in one, the latest in event time counts",
            "K": f"{self.K:,} people behind any points that somebody knows",
            "rho": f"{self.rho:,} points of a person may be known",
            "sigma": f"no category has more than {share.numerator}/{share.denominator} of the "
            "records that match",
            "sensitive values": f"{self.sensitive}, of {len(tree.names):,} names on {tree.height} "
            f"levels, generalised to level {self.privacy_height}",
            "records of a person": "one for each sensitive value, under one pseudonym"
            if self.linked
            else "one; a second sensitive value in a window is refused",
            "at least": f"{self.fewest:,} people, or the window is suppressed",
            "at most": f"{self.max_people:,} people in a window, {self.max_points:,} points each",
        }

    def how_to_read(self) -> list[str]:
        return [
            "each window begins with a record that says released, and how many records follow, or "
            "suppressed: too few people were there, or no release keeps the bounds.",
            f"points that are left are true; {self.sensitive} is a category of level "
            f"{self.privacy_height} at most. Points are missing, so counts of places are too low.",
            "a pseudonym belongs to one window; nothing says who was there in the next one.",
        ]
