"""Audit figures under policies: what one policy of one person hides within one interval."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from fugu.dataflows.base.errors import CannotBeAudited
from fugu.dataflows.kinds import PolicyOperator
from fugu.dataflows.offline.auditing.aggregates.as_drawn import PUBLIC, apart, law_of_noise
from fugu.dataflows.offline.auditing.aggregates.building import (
    FIGURES,
    aggregate_of,
    with_few_groups,
)
from fugu.dataflows.offline.auditing.aggregates.checks import around
from fugu.dataflows.offline.auditing.aggregates.contributions import Contribution
from fugu.dataflows.offline.auditing.aggregates.population import Said
from fugu.dataflows.offline.auditing.aggregates.stated import (
    Stated,
    addition,
    changed_by,
    shortest,
)
from fugu.dataflows.offline.auditing.aggregates.subject import Aggregate
from fugu.dataflows.offline.auditing.aggregates.worlds import Comparison, FiguresWorld
from fugu.dataflows.offline.auditing.audited import ROOT, ROUNDING, Attack, Audited, Check
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.stages.merging import SCHEDULE
from fugu.operators.auditing.noise_as_drawn import prices
from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import Integers
from fugu.operators.swellfish.relevance import Relevance
from fugu.operators.swellfish.strategy import PolicyStrategy

_GROUPS = 16
_PATHS = 32
_MOST_TICKS = 100
_AFTER_INTERVAL = 2
_ADDED = "everything, which a policy hides that was added in mid-run"


@dataclass(frozen=True, eq=False)
class _Run:
    """Hold a run through an interval, and the changes of single ticks that it is attacked with."""

    operator: PolicyOperator
    strategy: PolicyStrategy[object]
    subject: Aggregate
    stated: Stated
    ticks: range
    changes: Mapping[str, Mapping[int, int]]
    added: bytes

    def relevance(self, tick: int) -> Relevance:
        """Return what policies ask of a tick, with the one that is added before it."""
        there = any(when <= tick for when in self.subject.changes)
        return self.operator.timeline.relevance(tick, self.added if there else b"")


def audited_policies(file: PipelineFile, steps: int) -> Audited:
    """Return attacks on what policies state, one interval at a time."""
    file, left_out = with_few_groups(file)
    operator = file.pipeline.operator
    assert isinstance(operator, PolicyOperator)
    if operator.group_count > _GROUPS:
        raise CannotBeAudited(
            f"fugu audit: {operator.group_count} activities make runs too long. Write at most "
            f"{_GROUPS} activities into a copy of the policy document, and audit that"
        )
    [guarantee] = configure(file).mechanism.guarantees()
    if guarantee.per != "interval" or guarantee.neighbours.change != "stated":
        raise CannotBeAudited(
            f"fugu audit does not know how to attack a promise per {guarantee.per} about policies. "
            "Read fugu explain instead"
        )
    run = _run(file, operator, max(4, steps, FIGURES // operator.group_count))
    comparison = _comparison(run, file.pipeline.source.field)
    return Audited(
        worst=(),
        checks=(
            *around(comparison),
            _apart(run, comparison),
            _asked(run, comparison),
            *_priced(run, comparison, guarantee),
        ),
        attacks=tuple(_attacks(guarantee, comparison)),
        not_reached=(*left_out, *_not_reached(run)),
    )


def _run(file: PipelineFile, operator: PolicyOperator, most: int) -> _Run:
    stated = shortest(operator)
    within = stated.occurrence
    first = within.start - 1
    added_at = range(within.end + _AFTER_INTERVAL, first + most - 1)
    found = ((tick, addition(operator, stated, tick)) for tick in added_at)
    begins, change = next(((tick, one) for tick, one in found if one is not None), (None, None))
    end = min(begins or within.end, first + most - 2) + 1
    changes: dict[str, Mapping[int, int]] = {"one pattern": stated.alone()}
    if len(stated.overlapping) > 1:
        changes["all that policies of the person allow within an interval"] = stated.together()
    asked, added = {}, b""
    if begins is not None and change is not None:
        asked = {begins - 1: change.to_bytes()}
        added = operator.timeline.changed(b"", change.to_bytes(), begins - 1)
        changes[_ADDED] = {begins: operator.timeline.largest_sensitivity}
    usual, _ = changed_by(operator, file.pipeline.source.field, stated.policy, 0)
    subject = aggregate_of(file, usual, first, min(within.end, end - 1))
    population = replace(subject.population, person=stated.key)
    subject = replace(subject, population=population, changes=asked)
    mechanism = subject.mechanism
    assert isinstance(mechanism, PolicyStrategy)
    return _Run(operator, mechanism, subject, stated, range(first, end + 1), changes, added)


def _comparison(run: _Run, field: str) -> Comparison:
    def said(changes: Mapping[int, int]) -> Said:
        return tuple(_contribution(run, field, changes.get(tick, 0)) for tick in run.ticks)

    others = {name: said(changes) for name, changes in run.changes.items()}
    base = said({})
    others = {name: other for name, other in others.items() if other != base}
    return Comparison(run.subject, base, others)


def _contribution(run: _Run, field: str, units: int) -> Contribution:
    return changed_by(run.operator, field, run.stated.policy, units)[1]


def _attacks(guarantee: Guarantee, comparison: Comparison) -> Iterator[Attack]:
    base = FiguresWorld(comparison, comparison.base)
    for name, said in comparison.others.items():
        world = FiguresWorld(comparison, said)
        delta = guarantee.total_delta
        yield Attack(guarantee.notion, name, base, world, guarantee.epsilon, delta)


def _apart(run: _Run, comparison: Comparison) -> Check:
    base, excess = comparison.truths[comparison.base], []
    for other in comparison.others.values():
        for tick, truth in comparison.truths[other].items():
            moved = int(np.abs(truth - base[tick]).sum())
            excess.append(moved - run.relevance(tick).sensitivity)
    return Check(
        "neighbours differ by no more than policies say of each tick",
        max(excess) <= 0,
        f"{apart(comparison):,} units at most",
    )


def _asked(run: _Run, comparison: Comparison) -> Check:
    """Compare what noise is for with what policies ask, at ticks of a run with a change."""
    log = run.subject.log(comparison.base)
    released = run.subject.released(log, ROOT.derive("asked"), [SCHEDULE], restarts=True)
    enough = all(
        int(releases.annotations["sensitivity"][0]) >= run.relevance(tick).sensitivity
        for tick, releases in released.items()
    )
    return Check("noise is for what policies ask of each tick, changes included", enough)


def _priced(run: _Run, comparison: Comparison, guarantee: Guarantee) -> Iterator[Check]:
    """Add up the largest prices of an interval, of as many ticks as may differ."""
    length = min(_MOST_TICKS, max(len(run.ticks), run.stated.occurrence.ticks + 2))
    numbers: Integers = run.ticks.start + np.arange(length)
    asked = [run.relevance(tick) for tick in numbers.tolist()]
    sensitivity = np.array([one.sensitivity for one in asked])
    measured = prices(
        run.strategy,
        run.operator.group_count,
        numbers,
        _PATHS,
        between=run.subject.before,
        hidden=np.array([bool(one.intervals) for one in asked]) & (sensitivity > 0),
    )
    costs = np.where(sensitivity[:, None] > 0, measured.together, 0.0) * sensitivity[:, None]
    most = 0.0
    for interval in {one for relevance in asked for one in relevance.intervals}:
        inside = (numbers >= interval.start) & (numbers <= interval.end)
        largest = np.sort(costs[inside], axis=0)[-interval.affected :]
        most = max(most, float(largest.sum(axis=0).max()))
    yield Check(PUBLIC, measured.public)
    yield from law_of_noise(comparison, 1, float(measured.publication[1, 0]))
    yield Check(
        f"what may differ of an interval costs no more than is claimed, on {_PATHS} paths of "
        f"{length} ticks",
        most <= guarantee.epsilon + ROUNDING,
        f"{most:.4g} of {guarantee.epsilon:.4g} nats",
    )


def _not_reached(run: _Run) -> Iterator[str]:
    yield "the exact worst case: decisions and figures are bounded by the sum of their prices"
    yield (
        f"other intervals than the shortest one, of policy {run.stated.policy.id}, and those that "
        "overlap it; and what two intervals hide together"
    )
    if run.ticks.stop <= run.stated.occurrence.end:
        yield "the end of that interval: runs would be too long"
    if _ADDED not in run.changes:
        yield "a policy that is added in mid-run: runs would be too long, or it would not count"
