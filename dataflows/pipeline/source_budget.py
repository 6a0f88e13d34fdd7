"""Compose what all pipelines over one source promise, and compare it with what it allows.

`source.budget` bounds the figure without a model of all pipelines over a source, in the notion that
all of them state: per stream, window or release, whatever that figure counts. Every budget that is
declared must hold. One of (epsilon, delta) allows the composed epsilon at this delta. One that is
a number of nats allows the composed epsilon at the delta that the pipelines state, which may be
`DELTA_OF_A_NUMBER` at most. Either may be exceeded by a millionth, for the rounding of figures.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.pipeline.guarantee_text import (
    delta_in_words,
    figures_in_words,
    notion_in_words,
    per_in_words,
    rest_in_words,
    rounded_up,
)
from fugu.dataflows.pipeline.source_section import DELTA_OF_A_NUMBER, DeclaredBudget
from fugu.operators.budget_units import in_nats, units_of
from fugu.operators.composition.spend import (
    IN_WORDS,
    Figure,
    NotAddable,
    Spend,
    composed,
    composed_at,
)
from fugu.operators.composition.sums import add, windows_of
from fugu.operators.guarantee import Guarantee, Notion

_BUDGETED: tuple[Notion, ...] = ("ldp", "dp", "w-event-ldp", "w-event-dp")
"""List the notions that a budget counts: epsilon and delta without a model or policies."""
_OF_A_WINDOW: dict[Notion, Notion] = {"w-event-dp": "dp", "w-event-ldp": "ldp"}
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Promises:
    """Hold what one pipeline over a source promises, and the `source.budget` of its start."""

    pipeline: str
    guarantees: tuple[Guarantee, ...]
    source_budget: DeclaredBudget | None = None


@dataclass(frozen=True)
class Sum:
    """Compose the loss of all pipelines in one notion, or say why that has no number.

    `windows`: how many windows of each pipeline the stretch of time of the total takes.
    """

    notion: Notion
    total: Spend | None
    why_not: str | None = None
    windows: tuple[tuple[str, int], ...] = ()

    @cached_property
    def figure(self) -> Figure | None:
        """Return the composed epsilon at the stated delta."""
        return None if self.total is None else composed(self.total)

    @property
    def in_words(self) -> str:
        """Say epsilon and delta, per what, and by which account."""
        total, figure = self.total, self.figure
        if total is None or figure is None:
            return f"no sum: {self.why_not}"
        words = figures_in_words(
            in_nats(figure.epsilon),
            float(figure.delta),
            _per_of_all(total),
            float(total.delta_per_release),
        )
        if any(number > 1 for _, number in self.windows):
            counted = ", ".join(f"{number} of {pipeline}" for pipeline, number in self.windows)
            words += (
                f", which takes so many windows: {counted} (if all pipelines date records alike)"
            )
        if total.count > 1:
            words += f", {IN_WORDS[figure.account]}"
        return words


def _per_of_all(total: Spend) -> str:
    """Return what a total counts: with batches, what several pipelines release of one record."""
    if total.per == "release" and total.count > 1 and total.records > 1:
        return "record, which is in one release of every pipeline"
    return per_in_words(total.per, total.window, total.tick_milliseconds)


def sums(pipelines: Sequence[Promises]) -> list[Sum]:
    """Return a sum for every notion that any of the pipelines over a source states."""
    stated = [guarantee.notion for promises in pipelines for guarantee in promises.guarantees]
    return [_sum(notion, pipelines) for notion in dict.fromkeys(stated)]


def declared_budgets(pipelines: Sequence[Promises]) -> list[DeclaredBudget]:
    """Return every `source.budget` that is declared, once; all of them count."""
    declared = dict.fromkeys(promises.source_budget for promises in pipelines)
    return [budget for budget in declared if budget is not None]


def budgeted(pipelines: Sequence[Promises]) -> Sum:
    """Return the sum that a budget counts, in the first notion that all pipelines state."""
    for notion in _BUDGETED:
        if all(_stated(notion, promises) for promises in pipelines):
            return _sum(notion, pipelines)
    stated = "; ".join(
        f"pipeline {promises.pipeline} states "
        + " and ".join(notion_in_words(guarantee.notion) for guarantee in promises.guarantees)
        for promises in pipelines
    )
    return Sum(
        _BUDGETED[0],
        None,
        f"{stated}. A budget compares one figure without a model or policies that all pipelines "
        "state. Release what has another figure from a source of its own, or without source.budget",
    )


def check(source: str, pipelines: Sequence[Promises]) -> None:
    """Raise `StartRefused` if the pipelines over `source` exceed what was declared for it."""
    for budget in declared_budgets(pipelines):
        _check(source, pipelines, budget)


def _check(source: str, pipelines: Sequence[Promises], budget: DeclaredBudget) -> None:
    """Compare; a window that is as long as an aligned period meets two of them."""
    together = budgeted(pipelines)
    total = together.total
    if total is None:
        raise StartRefused(
            f"source.budget of {source} ({budget.in_words}) cannot be checked: {together.why_not}."
        )
    if budget.per == "window" and total.per == "period":
        total = replace(total.times(2, apart=total.tick_by_tick), per="window")
    if total.per != "stream" and _is_for_streams(budget, pipelines):
        raise StartRefused(
            f"source.budget of {source} ({budget.in_words}) was declared by a pipeline that states "
            f"a total over a stream's life. Together the pipelines have a figure per "
            f"{_per_of_all(total)} only, which limits no life. Give every pipeline a total over a "
            "stream's life, or declare source.budget: {epsilon: ..., delta: ..., per: window} in "
            "every file that declares it."
        )
    allowed = DELTA_OF_A_NUMBER if budget.delta is None else budget.delta
    figure = _figure_within(total, budget)
    if figure is None:
        stated = float(total.delta + total.delta_per_release)
        raise StartRefused(
            f"source.budget of {source} is {budget.in_words}, which allows a delta of "
            f"{allowed:g}, but the pipelines over it state one of {rounded_up(stated)} "
            "together. Lower delta of a pipeline that has not run yet, or declare source.budget: "
            "{epsilon: ..., delta: ...} with a larger delta in every file that declares it."
        )
    if figure.epsilon > units_of(budget.epsilon * (1.0 + _ROUNDING)):
        parts = " + ".join(
            f"{in_nats(_spend(together.notion, promises).epsilon):.6g} ({promises.pipeline})"
            for promises in pipelines
        )
        delta = delta_in_words(min(float(figure.delta), allowed))
        rest = rest_in_words(float(total.delta_per_release))
        raise StartRefused(
            f"source.budget of {source} is {budget.in_words} per "
            f"{_per_of_all(total)}, but the pipelines "
            f"over it come to {in_nats(figure.epsilon):.8g} nats{delta}{rest} "
            f"({notion_in_words(together.notion)}), {IN_WORDS[figure.account]}: {parts}. Lower "
            "epsilon or budget.total of a pipeline that has not run yet, or raise source.budget in "
            "every file that declares it. What a stopped pipeline has released still counts."
        )


def _is_for_streams(budget: DeclaredBudget, pipelines: Sequence[Promises]) -> bool:
    """Return whether a pipeline that declares it states, alone, a total over a stream's life."""
    alone = (budgeted([one]).total for one in pipelines if one.source_budget == budget)
    return budget.per is None and any(own is not None and own.per == "stream" for own in alone)


def _figure_within(total: Spend, budget: DeclaredBudget) -> Figure | None:
    """Return the composed figure at the delta that is allowed; None where that is too small."""
    if budget.delta is None:
        stated = total.delta + total.delta_per_release
        return composed(total) if stated <= DELTA_OF_A_NUMBER * (1.0 + _ROUNDING) else None
    left = Fraction(budget.delta * (1.0 + _ROUNDING)) - total.delta_per_release
    return composed_at(total, left) if left >= 0 else None


def _sum(notion: Notion, pipelines: Sequence[Promises]) -> Sum:
    try:
        spends = [_spend(notion, promises) for promises in pipelines]
        total, numbers = add(spends), windows_of(spends)
    except NotAddable as reason:
        return Sum(notion, None, str(reason))
    names = (promises.pipeline for promises in pipelines)
    return Sum(notion, total, windows=tuple(zip(names, numbers, strict=True)))


def _spend(notion: Notion, promises: Promises) -> Spend:
    guarantee = _stated(notion, promises)
    if guarantee is None:
        raise NotAddable(
            f"pipeline {promises.pipeline} states no figure of {notion_in_words(notion)}. Compare "
            "pipelines in a figure that all of them state"
        )
    return Spend.of(guarantee)


def _stated(notion: Notion, promises: Promises) -> Guarantee | None:
    """Return the promise of this notion, or that of a whole stream, which holds for windows."""
    for guarantee in promises.guarantees:
        if guarantee.notion == notion:
            return guarantee
    for guarantee in promises.guarantees:
        if guarantee.per == "stream" and _OF_A_WINDOW.get(notion) == guarantee.notion:
            return guarantee
    return None
