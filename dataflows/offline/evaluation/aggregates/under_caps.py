"""Evaluate kinds that may have a personal cap: the pipeline's own cap, others, and rivals."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Generic, Self

from fugu.dataflows.offline.evaluation.aggregates.caps import C, Caps, with_other_caps
from fugu.dataflows.offline.evaluation.aggregates.family import AggregateFamily, require_ticks
from fugu.dataflows.offline.evaluation.aggregates.figures import Figures, Summed
from fugu.dataflows.offline.evaluation.aggregates.utility import AggregateUtility, RealTimeUtility
from fugu.dataflows.offline.evaluation.candidates import (
    Candidate,
    Grid,
    chosen_epsilons,
    chosen_rivals,
)
from fugu.dataflows.offline.evaluation.family import Wanted
from fugu.dataflows.offline.evaluation.report import Beside, Report
from fugu.dataflows.offline.evaluation.run import Advance
from fugu.dataflows.offline.evaluation.sample import Sample, require_times
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.operators.mechanism import Integers, Mechanism
from fugu.operators.personal_cap import cap_of
from fugu.operators.randomness import Secret


@dataclass(frozen=True, eq=False)
class CapsFamily(AggregateFamily, Generic[C]):
    """Compare sections of one kind, under several caps if the pipeline has one, with rivals.

    `rivals` are the names that were asked for; `caps` is None where the pipeline has no cap.
    """

    operator: C
    rivals: Sequence[str]
    caps: Caps[C] | None

    known_rivals: ClassVar[tuple[str, ...]] = ()
    """Names that `--rivals` takes."""
    settings: ClassVar[frozenset[str]] = frozenset({"epsilon"})
    """Name the fields of the section that say how a row is run."""
    least: ClassVar[tuple[int, str]] = (1, "a figure takes")
    """Say how many ticks are needed, and for what."""
    noise: ClassVar[str] = "noise"
    """Name the noise that `deviation` measures."""

    @classmethod
    @abstractmethod
    def section_of(cls, file: PipelineFile) -> tuple[C, float]:
        """Return the section of the pipeline, and its epsilon."""

    @classmethod
    @abstractmethod
    def mechanism(cls, operator: C) -> Mechanism:
        """Return what a section runs."""

    @classmethod
    @abstractmethod
    def deviation(cls, mechanism: Mechanism) -> float:
        """Return the deviation of the noise of a figure, in units."""

    @classmethod
    @abstractmethod
    def window(cls, operator: C, ticks: int) -> int:
        """Return how many ticks a promise is about, where the sample has so many."""

    @classmethod
    def compared(cls, figures: Integers) -> Integers:
        """Return what is compared, made of the figures of ticks."""
        return figures

    @classmethod
    def label(cls, operator: C) -> str:
        """Return the name of a row, without its cap."""
        return operator.kind

    @classmethod
    def variants(cls, operator: C, rivals: Sequence[str]) -> Iterator[C]:
        """Yield rivals that are sections of the same kind."""
        yield from ()

    @classmethod
    def of_other_kinds(cls, operator: C, ticks: int) -> Mapping[str, Callable[[float], Candidate]]:
        """Return by name what makes a rival of another kind at an epsilon."""
        return {}

    @classmethod
    def planned(cls, file: PipelineFile, sample: Sample, wanted: Wanted) -> Self:
        operator, epsilon = cls.section_of(file)
        require_times(file.pipeline, "operator.ticks")
        rivals = chosen_rivals(operator.kind, wanted.rivals, cls.known_rivals)
        epsilons = chosen_epsilons(epsilon, wanted.epsilons)
        caps = Caps.of(file, operator, sample, cls.deviation, cls.noise, cls.compared)
        summed = Summed.of(file.pipeline, operator, sample) if caps is None else caps.uncapped
        require_ticks(sample, summed, *cls.least)
        others = (*cls.variants(operator, rivals), *with_other_caps(operator))
        sections = {cls._label_with_cap(one): one for one in (operator, *others)}

        def section(label: str, epsilon: float) -> Candidate:
            return cls._candidate(sections[label], summed.ticks, label, epsilon)

        made = cls.of_other_kinds(operator, summed.ticks)

        def rival(name: str, epsilon: float) -> Candidate:
            return made[name](epsilon)

        grid = Grid()
        grid.add_each(sections, epsilons, section)
        grid.require_some()
        grid.add_each([name for name in rivals if name in made], epsilons, rival)
        configured = cls._label_with_cap(operator), epsilon, cls.window(operator, summed.ticks)
        return cls(file, sample, grid, summed, configured, operator, rivals, caps)

    @classmethod
    def _label_with_cap(cls, operator: C) -> str:
        declared, label = operator.contributions, cls.label(operator)
        return label if declared is None else f"{label}, at most {declared.at_most}"

    @classmethod
    def _candidate(cls, operator: C, ticks: int, label: str, epsilon: float) -> Candidate:
        section = operator.model_copy(update={"epsilon": epsilon})
        settings = section.model_dump(include=set(cls.settings), exclude_none=True)
        if section.contributions is not None:
            settings["contributions"] = section.contributions.model_dump(mode="json")
        window = cls.window(section, ticks)
        return Candidate(section.kind, epsilon, cls.mechanism(section), settings, label, window)

    def released(self, candidate: Candidate, secret: Secret, advance: Advance) -> Figures:
        cap = cap_of(candidate.mechanism)
        summed = self.summed if self.caps is None or cap is None else self.caps.summed[cap]
        return summed.released(candidate.mechanism, secret, advance)

    def measured(self, candidate: Candidate, runs: Sequence[Figures]) -> AggregateUtility:
        return RealTimeUtility.measured(self.truth, runs)

    def beside(self, runs: int, seed: int) -> Sequence[Beside]:
        return []

    def extra(self, report: Report[AggregateUtility]) -> Mapping[str, object]:
        found = super().extra(report)
        return found if self.caps is None else {**found, "caps": self.caps.document(report)}

    def draw(self, report: Report[AggregateUtility], path: Path) -> None:
        curves = {} if self.caps is None else self.caps.curves(report)
        self.picture(report).save_real_time(path, curves)
