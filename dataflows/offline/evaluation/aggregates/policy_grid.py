"""What is compared where policies say when something is hidden: all strategies under the document,
and w-event strategies, which hide everything in every window, at the same epsilons.

A window is as long as the longest interval that is open at some tick of the sample, unless the
operator has one: then what is hidden in any window is hidden in any interval.
"""

from collections.abc import Iterator, Sequence

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.kinds import PolicyOperator, as_kind, kinds_of
from fugu.dataflows.offline.evaluation.aggregates.figures import Summed
from fugu.dataflows.offline.evaluation.aggregates.grid import WindowedCandidate
from fugu.dataflows.offline.evaluation.grid import Grid
from fugu.operators.mechanism import Mechanism
from fugu.operators.wevent.budget_absorption import BudgetAbsorption
from fugu.operators.wevent.budget_distribution import BudgetDistribution
from fugu.operators.wevent.rescue_dp import RescueDp
from fugu.operators.wevent.sample import Sample
from fugu.operators.wevent.strategy import Strategy
from fugu.operators.wevent.uniform import Uniform

UNDER_POLICIES = kinds_of(PolicyOperator)
_IN_WINDOWS: dict[str, type[Strategy]] = {
    strategy.kind: strategy
    for strategy in (Uniform, Sample, BudgetDistribution, BudgetAbsorption, RescueDp)
}
RIVALS = (*UNDER_POLICIES, *_IN_WINDOWS)


def longest_interval(operator: PolicyOperator, summed: Summed) -> int:
    """In ticks, of those that are open at a tick of the sample; 1 where none is."""
    relevant = (operator.timeline.relevance(tick, b"") for tick in summed.numbers)
    lengths = (one.end - one.start + 1 for asked in relevant for one in asked.intervals)
    return max(lengths, default=1)


def policy_grid(
    operator: PolicyOperator, epsilons: Sequence[float], window: int, rivals: Sequence[str]
) -> Grid[WindowedCandidate]:
    """The pipeline's own strategy first, then its rivals, each with every epsilon it takes."""
    grid = Grid[WindowedCandidate]()
    for kind in (operator.kind, *rivals):
        for epsilon in epsilons:
            try:
                mechanism = _mechanism(operator, kind, epsilon, window)
            except ValueError as error:
                grid.leave_out(kind, epsilon, str(error))
                continue
            settings = {"window": window} if _has_window(kind) else {}
            grid.candidates.append(
                WindowedCandidate(kind, epsilon, mechanism, settings, window=window)
            )
    if not grid.candidates:
        raise FuguError("\n".join(["--epsilons: nothing is left to compare", *grid.left_out]))
    return grid


def policy_notes(operator: PolicyOperator, kinds: Sequence[str], window: int) -> Iterator[str]:
    """What the same epsilon means in different rows."""
    yield (
        "eps: nats in any relevance interval, of what policies say. Everything else is not hidden: "
        f"where nothing is relevant, see operator.irrelevant ({operator.irrelevant})."
    )
    if any(kind in _IN_WINDOWS for kind in kinds):
        names = ", ".join(kind for kind in kinds if kind in _IN_WINDOWS)
        yield (
            f"{names}: eps holds in any {window:,} ticks in a row, for whatever a user "
            "contributes. They promise more, and policies are kept too."
        )


def _mechanism(operator: PolicyOperator, kind: str, epsilon: float, window: int) -> Mechanism:
    if kind in _IN_WINDOWS:
        strategy = _IN_WINDOWS[kind]
        return strategy(operator.group_count, window, epsilon, operator.sensitivity)
    section: PolicyOperator = as_kind(operator, kind, window=window if _has_window(kind) else None)
    return section.strategy(epsilon)


def _has_window(kind: str) -> bool:
    return kind in _IN_WINDOWS or kind.startswith("ts_")
