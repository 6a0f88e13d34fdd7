"""Build what is run from a pipeline file, and choose inputs that are neighbours by its promise."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import exp, inf

from fugu.dataflows.base.errors import CannotBeAudited
from fugu.dataflows.kinds import AggregateOperator
from fugu.dataflows.offline.auditing.aggregates.contributions import (
    NONE,
    Contribution,
    contributions,
    farthest,
)
from fugu.dataflows.offline.auditing.aggregates.population import PARTITIONS, Population, Said
from fugu.dataflows.offline.auditing.aggregates.subject import Aggregate
from fugu.dataflows.offline.auditing.aggregates.worlds import Comparison, FiguresWorld
from fugu.dataflows.offline.auditing.audited import Attack, Leaks
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.guarantee import Guarantee

_BEGIN = 10**12
"""Milliseconds since 1970."""
_PERSON = b"person"
FIGURES = 96
"""Publish so many figures in a run, or a few more: 50,000 runs of them take some 20 seconds."""
_GROUPS = 6
_CROWD, _ROOM = 300, 10


def with_few_groups(file: PipelineFile) -> tuple[PipelineFile, tuple[str, ...]]:
    """Leave out groups that would make runs too long, and say so."""
    operator = file.pipeline.operator
    groups = operator.groups if isinstance(operator, AggregateOperator) else None
    if groups is None or len(groups) <= _GROUPS:
        return file, ()
    kept = groups[:_GROUPS]
    other = kept[-1] if getattr(operator, "other", None) is not None else None
    fewer = operator.model_copy(update={"groups": kept, "other": other})
    pipeline = file.pipeline.model_copy(update={"operator": fewer})
    return file.replacing(pipeline), (
        f"all {len(groups):,} groups: attacked is the same pipeline with the first {_GROUPS}",
    )


def aggregate_of(file: PipelineFile, usual: Contribution, first: int, restart: int) -> Aggregate:
    """Build what is run, with a restart in this tick."""
    configured, pipeline = configure(file), file.pipeline
    operator = pipeline.operator
    assert isinstance(operator, AggregateOperator)
    possible = contributions(operator, pipeline.source.field)
    population = Population(
        operator.in_ticks(),
        configured.codec.timestamp,
        "murmur2" if pipeline.source.partitioner == "auto" else pipeline.source.partitioner,
        _PERSON,
        usual,
        much=max(possible, key=NONE.apart),
        crowd=max(0, min(_CROWD, pipeline.state.max_keys // PARTITIONS - _ROOM)),
    )
    return Aggregate(
        pipeline, operator, configured.mechanism, configured.codec, population, first, restart
    )


@dataclass(frozen=True)
class Course:
    """Say how a run goes: ticks before those that differ, those, and ticks after them."""

    before: int
    differing: int
    after: int

    @property
    def ticks(self) -> int:
        """Return how many ticks the person contributes to."""
        return self.before + self.differing + self.after

    def said(
        self, usual: Contribution, instead: Contribution, differing: int | None = None
    ) -> Said:
        """Contribute `usual`, but `instead` at the first so many of the ticks that may differ."""
        number = self.differing if differing is None else differing
        rest = self.ticks - self.before - number
        return (*[usual] * self.before, *[instead] * number, *[usual] * rest)


def course_of(groups: int, extent: int | None, steps: int) -> Course:
    """Let a run be as long as the extent of a promise and one tick more, if that is not too long.

    `extent` is in ticks; without one it is all of them.
    """
    most = max(4, steps, FIGURES // groups)
    if extent is None:
        return Course(0, most, 0)
    if extent + 2 <= most:
        before = min(extent // 2 + 1, most - extent - 2)
        return Course(before, extent + 1, 1)
    return Course(0, most - 1, 1)


def extent_of(guarantee: Guarantee, width: int) -> int | None:
    """Return how many ticks the promise is about; None: all of them."""
    match guarantee.per:
        case "stream":
            return None
        case "release":
            return 1
        case "window" | "period":
            assert guarantee.window is not None
            return guarantee.window * (guarantee.tick_milliseconds or width) // width
        case _:
            raise CannotBeAudited(
                f"fugu audit does not know how to attack a promise per {guarantee.per} about "
                "figures. Read fugu explain instead"
            )


def compared(
    file: PipelineFile, guarantee: Guarantee, steps: int
) -> tuple[Comparison, Mapping[str, int]]:
    """Return inputs that differ in a tick, in what the promise is about, and in a tick more.

    The numbers say in how many ticks each differs.
    """
    operator = file.pipeline.operator
    assert isinstance(operator, AggregateOperator)
    possible = contributions(operator, file.pipeline.source.field)
    usual, instead = farthest(guarantee.neighbours, possible)
    ticks = operator.in_ticks()
    extent = extent_of(guarantee, ticks.width)
    course = course_of(operator.group_count, extent, steps)
    first = _BEGIN // ticks.width
    if guarantee.per == "period" and extent is not None:
        first += -(first + course.before) % extent
    middle = first + course.before + course.differing // 2
    subject = aggregate_of(file, possible[0], first, middle)
    keeps = "presence" in guarantee.neighbours.kept
    subject = replace(subject, population=replace(subject.population, keeps_presence=keeps))
    within = course.differing if extent is None else min(extent, course.differing)
    numbers = {"1 tick": 1} if within > 1 else {}
    numbers[_named(within, extent)] = within
    if within < course.differing:
        numbers[f"{course.differing} ticks, more than a window"] = course.differing
    others = {name: course.said(usual, instead, number) for name, number in numbers.items()}
    base = course.said(usual, usual, 0)
    silent: tuple[Said, ...] = ()
    if guarantee.neighbours.change in ("presence", "replaced-or-none"):
        silent = (course.said(usual, NONE, course.differing),)
    return Comparison(subject, base, others, silent), numbers


def _named(within: int, extent: int | None) -> str:
    ticks = "1 tick" if within == 1 else f"{within} ticks"
    if extent is None:
        return f"all {ticks}"
    return f"{ticks}, a whole window" if within == extent else f"{ticks} of a window of {extent:,}"


def attacks_on(
    guarantee: Guarantee,
    comparison: Comparison,
    numbers: Mapping[str, int],
    exact: Callable[[Said], Leaks | None],
) -> Iterator[Attack]:
    """Yield attacks; a promise about a window is given as often as windows cover what differs."""
    extent = extent_of(guarantee, comparison.subject.operator.in_ticks().width)
    base = FiguresWorld(comparison, comparison.base)
    for name, said in comparison.others.items():
        times = 1 if extent is None else -(-numbers[name] // extent)
        yield Attack(
            guarantee.notion,
            name,
            base,
            FiguresWorld(comparison, said),
            times * guarantee.epsilon,
            together(guarantee, times),
            exact(said),
        )


def together(guarantee: Guarantee, times: int) -> float:
    """Return the delta of so many changes, one after the other."""
    epsilon, delta = guarantee.epsilon, guarantee.total_delta
    total = sum(delta * (exp(min(step * epsilon, 700.0))) for step in range(times))
    return min(1.0, total) if total < inf else 1.0
