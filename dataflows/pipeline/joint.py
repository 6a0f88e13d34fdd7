"""Compute what two pipelines about the same people tell together, to a reader who knows a model.

What a pipeline tells about one value is `Told`: in nats, with the matrices that it declares of how
values of one person follow each other. It is made from a pipeline file, or read from the ledger.
"""

from dataclasses import dataclass, replace
from functools import cache
from math import inf, isfinite
from typing import Any

from fugu.dataflows.kinds.families.correlation import Correlation
from fugu.dataflows.kinds.families.w_event import WEventOperator
from fugu.dataflows.pipeline.checked import checked
from fugu.dataflows.pipeline.config import Pipeline
from fugu.operators.leakage.combined import Topology, per_value
from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.leakage.one_value import about_a_life, about_one_value, about_windows
from fugu.operators.leakage.telling import Telling, combined_after, combined_limit
from fugu.operators.mechanism import Guarantee, Mechanism

SHOWN_TICKS = (10, 100)
TOPOLOGIES: dict[Topology, str] = {
    "parallel": (
        "both read the raw data of the same people: what a tick tells adds up, and so it does "
        "before the model is applied. The sum of what each leaks alone is no bound"
    ),
    "serial": (
        "{second} reads what {first} has released, and nothing else: together stands for what "
        "{second} tells. Who reads {first}, too, learns what that tells, and no more"
    ),
    "disjoint": "nobody is in both: the larger figure counts",
    "independent": (
        "they are about attributes of the same people that say nothing about each other: what "
        "they leak adds up"
    ),
}

Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Told:
    """Hold what a pipeline tells about one value of a person.

    At most `nats` by its own tick, and `whole_life` by all of them; any ticks of a `window`, a
    number and nats, tell so many together. Ticks have `tick_milliseconds` in event time, or are
    records. `beside` names other pipelines about the same people.
    """

    pipeline: str
    nats: float | None
    whole_life: float | None = None
    window: tuple[int, float] | None = None
    tick_milliseconds: int | None = None
    transition: Rows | None = None
    backward: Rows | None = None
    beside: tuple[tuple[str, Topology], ...] = ()

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
        return Telling(known, self.nats, windows, life)


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

    @property
    def meaning(self) -> str:
        """Say what the topology means."""
        return TOPOLOGIES[self.topology].format(first=self.first, second=self.second)

    def document(self) -> dict[str, object]:
        """Return the same for a machine: null where there is no bound."""
        limit = (
            None if self.limit is None else [one if isfinite(one) else None for one in self.limit]
        )
        return {**vars(self), "limit": limit, "meaning": self.meaning}


def joint(topology: Topology, first: Told, second: Told) -> Joint:
    """Compute what both tell together; the second knows the matrix of the first if it has none."""
    if second.transition is None and first.transition is not None:
        second = second.knowing(first.transition, first.backward)
    elif topology in ("parallel", "serial") and first.transition is None and second.transition:
        first = first.knowing(second.transition, second.backward)
    names = topology, first.pipeline, second.pipeline
    problem = _no_figure(first) or _no_figure(second) or _other_ticks(first, second)
    if problem is not None:
        return Joint(*names, None, None, None, problem)
    assert first.nats is not None
    assert second.nats is not None
    own = first.nats, second.nats, per_value(topology, first.nats, second.nats)
    one, other = first.telling, second.telling
    if one is None or other is None:
        return Joint(
            *names,
            own,
            None,
            None,
            "no matrix says how values of one person follow each other: give --matrix, or declare "
            "ledger.beside.correlation",
        )
    if topology in ("parallel", "serial") and first.transition != second.transition:
        return Joint(
            *names,
            own,
            None,
            None,
            f"{topology} pipelines are about one value, but both declare a matrix of their own; "
            "declare one",
        )
    after = tuple(
        (ticks, one.after(ticks), other.after(ticks), combined_after(topology, one, other, ticks))
        for ticks in SHOWN_TICKS
    )
    limit = one.limit, other.limit, combined_limit(topology, one, other)
    return Joint(*names, own, after, limit, None)


def declared_joints(pipelines: dict[str, Told]) -> list[Joint]:
    """Return what pipelines tell together that declare to be about the same people, each pair once.

    Where both declare it, the one that comes first by name counts, unless they disagree: then both.
    """
    found: dict[tuple[frozenset[str], Topology], Joint] = {}
    for name, told in sorted(pipelines.items()):
        for other, topology in told.beside:
            if other in pipelines and other != name:
                pair = frozenset((name, other)), topology
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
