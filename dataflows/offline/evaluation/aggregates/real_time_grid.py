"""What is compared with a real-time release: its filters, and w-event strategies in whose window
all ticks of the sample lie, so that their epsilon is for everything a user contributes, too."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.kinds import RealTimeOperator
from fugu.dataflows.kinds.families.series_budget import FixedWeight
from fugu.dataflows.offline.evaluation.aggregates.grid import WindowedCandidate
from fugu.dataflows.offline.evaluation.aggregates.simulated import SIMULATED
from fugu.dataflows.offline.evaluation.grid import Grid
from fugu.operators.mechanism import Mechanism
from fugu.operators.wevent.binary_tree import BinaryTree
from fugu.operators.wevent.budget_absorption import BudgetAbsorption
from fugu.operators.wevent.budget_distribution import BudgetDistribution
from fugu.operators.wevent.uniform import Uniform

WEIGHTS = (0.1, 0.3, 0.6)
IN_ONE_WINDOW: Mapping[str, Any] = {
    strategy.kind: strategy for strategy in (Uniform, BudgetDistribution, BudgetAbsorption)
}
_FILTERS = ("adaptive", "weight", "baseline")
RIVALS = (*_FILTERS, *IN_ONE_WINDOW, BinaryTree.kind, *SIMULATED)


@dataclass(frozen=True, eq=False, kw_only=True)
class RealTimeCandidate(WindowedCandidate):
    """A filter, or a strategy; `label` tells filters apart."""

    label: str

    @property
    def name(self) -> str:
        """The filter, or the kind of the strategy."""
        return self.label


def label_of(operator: RealTimeOperator) -> str:
    """Of its filter."""
    match operator.filter:
        case FixedWeight(weight=weight):
            return f"weight {weight:g}"
        case word:
            return word


def real_time_grid(
    operator: RealTimeOperator, epsilons: Sequence[float], ticks: int, rivals: Sequence[str]
) -> Grid[RealTimeCandidate]:
    """The pipeline's own filter first, then the others, and strategies for so many `ticks`."""
    grid = Grid[RealTimeCandidate]()
    sections = {label_of(one): one for one in (operator, *_filtered(operator, rivals))}
    for label, section in sections.items():
        for epsilon in epsilons:
            changed = section.model_copy(update={"epsilon": epsilon})
            try:
                mechanism = changed.release()
            except ValueError as error:
                grid.leave_out(label, epsilon, str(error))
                continue
            window = operator.period or ticks
            grid.candidates.append(
                RealTimeCandidate(
                    operator.kind, epsilon, mechanism, _said(changed), window=window, label=label
                )
            )
    if not grid.candidates:
        raise FuguError("\n".join(["--epsilons: nothing is left to compare", *grid.left_out]))
    for kind in rivals:
        for epsilon in epsilons:
            if kind in IN_ONE_WINDOW or kind == BinaryTree.kind:
                _add_strategy(grid, operator, kind, epsilon, ticks)
    return grid


def _filtered(operator: RealTimeOperator, rivals: Sequence[str]) -> Iterator[RealTimeOperator]:
    for name in (name for name in rivals if name in _FILTERS):
        weights = [FixedWeight(weight=weight) for weight in WEIGHTS]
        for chosen in weights if name == "weight" else [name]:
            yield operator.model_copy(update={"filter": chosen})


def _said(section: RealTimeOperator) -> dict[str, object]:
    names = {"epsilon", "delta", "horizon", "period", "decay", "filter", "presentation"}
    return section.model_dump(include=names, exclude_none=True)


def _add_strategy(
    grid: Grid[RealTimeCandidate], operator: RealTimeOperator, kind: str, epsilon: float, ticks: int
) -> None:
    shape = operator.group_count, ticks, epsilon, operator.sensitivity
    settings: dict[str, object] = {"epsilon": epsilon, "window": ticks}
    try:
        if kind == BinaryTree.kind:
            mechanism: Mechanism = BinaryTree(*shape, horizon=ticks)
            settings["horizon"] = ticks
        else:
            mechanism = IN_ONE_WINDOW[kind](*shape)
    except ValueError as error:
        return grid.leave_out(kind, epsilon, str(error))
    grid.candidates.append(
        RealTimeCandidate(kind, epsilon, mechanism, settings, window=ticks, label=kind)
    )
