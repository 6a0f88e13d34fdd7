"""Compute what two pipelines about the same people tell together, to a reader who knows a model.

What a pipeline tells about one value is `Told`: in nats, with the matrices that it declares of how
values of one person follow each other. It is made from a pipeline file, or read from the ledger.
"""

from dataclasses import dataclass, replace
from functools import cache, partial
from math import inf, isfinite
from typing import Any

from fugu.dataflows.kinds.families.correlation import Correlation
from fugu.dataflows.kinds.families.w_event import WEventOperator
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.pipeline.guarantee_data import checked
from fugu.operators.budget import memoryless
from fugu.operators.guarantee import Guarantee
from fugu.operators.leakage.combined import (
    Telling,
    Topology,
    about_a_life,
    about_one_value,
    about_windows,
    combined_after,
    combined_limit,
    per_value,
)
from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.mechanism import Mechanism

SHOWN_TICKS = (10, 100)
TOPOLOGIES: dict[Topology, str] = {
    "parallel": (
        "both read the raw data of the same people: what a tick tells adds up, and so it does "
        "before the model is applied. The sum of what each leaks alone is no bound"
    ),
    "serial": (
        "{second} reads what {first} has released, and nothing else: together stands for what "
        "{second} tells. Who reads {first}, too, learns what that tells, and no more. {memory}"
    ),
    "disjoint": "nobody is in both: the larger figure counts",
    "independent": (
        "they are about attributes of the same people that say nothing about each other: what "
        "they leak adds up"
    ),
}

_MEMORYLESS = (
    "Each release of {first} depends on its own record alone, and is published once, so that both "
    "perturb it: a value tells less than either alone would"
)
_REMEMBERING = (
    "{first} may publish a release again, or remember what came before, and {second} perturbs "
    "every copy anew: what limits {first} counts, and of {second} a whole life alone"
)

_NO_MATRIX = (
    "no matrix says how values of one person follow each other: give --matrix, or declare "
    "ledger.beside.correlation"
)

Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Told:
    """Hold what a pipeline tells about one value of a person.

    At most `nats` by its own tick, and `whole_life` by all of them; any ticks of a `window`, a
    number and nats, tell so many together. Ticks have `tick_milliseconds` in event time, or are
    records. `beside` names other pipelines about the same people. It is `memoryless` if every
    release depends on its own record alone, and is published once.
    """

    pipeline: str
    nats: float | None
    whole_life: float | None = None
    window: tuple[int, float] | None = None
    tick_milliseconds: int | None = None
    transition: Rows | None = None
    backward: Rows | None = None
    beside: tuple[tuple[str, Topology], ...] = ()
    memoryless: bool = False

    @classmethod
    def of(cls, pipeline: Pipeline, mechanism: Mechanism) -> "Told":
        """Return what a pipeline file says."""
        operator, ledger = pipeline.operator, pipeline.ledger
        declared = None if ledger is None else ledger.beside
        matrices: Correlation | None = None if declared is None else declared.correlation
        if matrices is None and isinstance(operator, WEventOperator):
            matrices = operator.correlation
        guarantees, ticks = mechanism.guarantees(), operator.in_ticks()
        return cls(
            pipeline.name,
            operator.nats_of_one_value(mechanism),
            about_a_life(guarantees),
            about_windows(guarantees),
            None if ticks is None else ticks.width,
            None if matrices is None else _rows(matrices.transition),
            None if matrices is None or matrices.backward is None else _rows(matrices.backward),
            () if declared is None else tuple(declared.pipelines.items()),
            memoryless(mechanism),
        )

    @classmethod
    def promised(cls, pipeline: str, guarantees: tuple[Guarantee, ...]) -> "Told":
        """Return what promises say by themselves: a window bounds each of its ticks."""
        ticks = [one.tick_milliseconds for one in guarantees if one.tick_milliseconds]
        nats, life = about_one_value(guarantees), about_a_life(guarantees)
        window = about_windows(guarantees)
        return cls(pipeline, nats, life, window, ticks[0] if ticks else None)

    def after(self, before: "Told") -> "Told":
        """Return the same of a pipeline that has told more before, or without a figure."""
        return replace(
            self,
            nats=_larger(self.nats, before.nats),
            whole_life=_larger(self.whole_life, before.whole_life),
            window=self.window if self.window == before.window else None,
            memoryless=self.memoryless and before.memoryless,
        )

    def knowing(self, transition: Rows, backward: Rows | None) -> "Told":
        """Return the same with other matrices."""
        return replace(self, transition=transition, backward=backward)

    @property
    def telling(self) -> Telling | None:
        """Return the same for leakages; None where no figure or matrix is declared."""
        if self.nats is None or self.transition is None or self.nats <= 0.0:
            return None
        known = _correlation(self.transition, self.backward)
        windows = () if self.window is None else (self.window,)
        life = inf if self.whole_life is None else self.whole_life
        return Telling(known, self.nats, windows, life, self.memoryless)


def read_told(data: dict[str, Any] | None) -> Told | None:
    """Return what a pipeline entered into the ledger; `ValueError` or `TypeError` for less."""
    if data is None:
        return None
    matrices = {name: _rows(data[name]) for name in ("transition", "backward") if data[name]}
    beside = tuple((name, topology) for name, topology in data["beside"])
    window = None if data["window"] is None else tuple(data["window"])
    return checked(Told(**{**data, **matrices, "beside": beside, "window": window}))


@dataclass(frozen=True)
class Joint:
    """State what two pipelines tell about one value: alone, and together, in nats.

    `per_value` is about its own tick, and has no model. `after` has a row for each number of ticks,
    and `limit` is for any number; infinity where there is no bound. Both are None without matrices,
    which `why_not` explains.
    """

    topology: Topology
    first: str
    second: str
    per_value: tuple[float, float, float] | None
    after: tuple[tuple[int, float, float, float], ...] | None
    limit: tuple[float, float, float] | None
    why_not: str | None
    memoryless: bool = False
    """True if every release of the first depends on its own record alone."""

    @property
    def meaning(self) -> str:
        """Say what the topology means."""
        names = {"first": self.first, "second": self.second}
        memory = (_MEMORYLESS if self.memoryless else _REMEMBERING).format(**names)
        return TOPOLOGIES[self.topology].format(**names, memory=memory)

    def document(self) -> dict[str, object]:
        """Return the same for a machine: null where there is no bound."""
        limit = (
            None if self.limit is None else [one if isfinite(one) else None for one in self.limit]
        )
        return {**vars(self), "limit": limit, "meaning": self.meaning}


def joint(topology: Topology, first: Told, second: Told) -> Joint:
    """Compute what both tell together; where one has no matrix, it knows that of the other.

    Where both are about one value, a `backward` that one of them declares counts for both.
    """
    first, second = _knowing(first, second), _knowing(second, first)
    about_one_value = topology in ("parallel", "serial")
    if about_one_value and first.transition == second.transition:
        first, second = _looking_back(first, second), _looking_back(second, first)
    of_both = partial(Joint, topology, first.pipeline, second.pipeline, memoryless=first.memoryless)
    problem = _no_figure(first) or _no_figure(second) or _other_ticks(first, second)
    if problem is not None:
        return of_both(None, None, None, problem)
    assert first.nats is not None
    assert second.nats is not None
    both = per_value(topology, first.nats, second.nats, memoryless=first.memoryless)
    own = first.nats, second.nats, both
    one, other = first.telling, second.telling
    if one is None or other is None:
        return of_both(own, None, None, _NO_MATRIX)
    if about_one_value and (first.transition, first.backward) != (
        second.transition,
        second.backward,
    ):
        matrix = "matrix" if first.transition != second.transition else "backward matrix"
        problem = (
            f"{topology} pipelines are about one value, but both declare a {matrix} of their own; "
            "declare one"
        )
        return of_both(own, None, None, problem)
    after = tuple(
        (ticks, one.after(ticks), other.after(ticks), combined_after(topology, one, other, ticks))
        for ticks in SHOWN_TICKS
    )
    limit = one.limit, other.limit, combined_limit(topology, one, other)
    return of_both(own, after, limit, None)


def _knowing(told: Told, other: Told) -> Told:
    """Return the same with the matrices of the other, if it declares none."""
    if told.transition is not None or other.transition is None:
        return told
    return told.knowing(other.transition, other.backward)


def _looking_back(told: Told, other: Told) -> Told:
    """Return the same with the backward matrix of the other, if it declares none."""
    return told if told.backward is not None else replace(told, backward=other.backward)


def declared_joints(pipelines: dict[str, Told]) -> list[Joint]:
    """Return what pipelines tell together that declare to be about the same people, each pair once.

    Where both declare it, the one that comes first by name counts, unless they disagree: then both.
    """
    found: dict[tuple[tuple[str, ...], Topology], Joint] = {}
    for name, told in sorted(pipelines.items()):
        for other, topology in told.beside:
            if other in pipelines and other != name:
                ordered = (name, other) if topology == "serial" else sorted((name, other))
                pair = tuple(ordered), topology
                if pair not in found:
                    found[pair] = joint(topology, told, pipelines[other])
    return list(found.values())


def missing(pipelines: dict[str, Told]) -> list[tuple[str, str]]:
    """Return who declares to be beside a pipeline that is not there."""
    named = ((name, other) for name, told in pipelines.items() for other, _ in told.beside)
    return sorted(pair for pair in named if pair[1] not in pipelines)


def _no_figure(told: Told) -> str | None:
    if told.nats is not None:
        return None
    return (
        f"{told.pipeline} promises no figure without a model, and without a delta, about one value"
    )


def _other_ticks(first: Told, second: Told) -> str | None:
    ticks = {told.tick_milliseconds for told in (first, second)} - {None}
    if len(ticks) < 2:
        return None
    return (
        f"ticks of {first.pipeline} take {first.tick_milliseconds} ms and those of "
        f"{second.pipeline} {second.tick_milliseconds} ms; a model has one step, so give both the "
        "same ticks.width"
    )


def _larger(one: float | None, other: float | None) -> float | None:
    """Return the larger figure; None where one of them has no bound."""
    return None if one is None or other is None else max(one, other)


def _rows(matrix: Any) -> Rows:
    return tuple(tuple(float(entry) for entry in row) for row in matrix)


@cache
def _correlation(transition: Rows, backward: Rows | None) -> TemporalCorrelation:
    return TemporalCorrelation.of(transition, backward)
