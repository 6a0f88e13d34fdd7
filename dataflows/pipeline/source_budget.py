"""Add up what all pipelines over one source promise, and compare it with what it allows.

`source.budget` in a pipeline file counts nats in the figure without a model (`ldp`): per stream if
the pipelines have totals, per release if none has. The smallest one that is declared counts. It
may be exceeded by a millionth, for the rounding that figures include.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.pipeline.guarantee_text import delta_in_words, figures_in_words, rest_in_words
from fugu.dataflows.pipeline.neighbours_text import per_in_words
from fugu.operators.budget_units import in_nats, units_of
from fugu.operators.mechanism import Guarantee, Notion
from fugu.operators.sums import NotAddable, Spend, add, windows_of

_WITHOUT_A_MODEL: Notion = "ldp"
_OF_A_WINDOW: dict[Notion, Notion] = {"w-event-dp": "dp", "w-event-ldp": "ldp"}
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Promises:
    """Hold what one pipeline over a source promises, and the `source.budget` of its start."""

    pipeline: str
    guarantees: tuple[Guarantee, ...]
    source_budget: float | None = None


@dataclass(frozen=True)
class Sum:
    """Add up the loss of all pipelines in one notion, or say why that has no number.

    `windows`: how many windows of each pipeline the stretch of time of the total takes.
    """

    notion: Notion
    total: Spend | None
    why_not: str | None = None
    windows: tuple[tuple[str, int], ...] = ()

    @property
    def in_words(self) -> str:
        """Say epsilon and delta, and per what."""
        total = self.total
        if total is None:
            return f"no sum. {self.why_not}"
        per = per_in_words(total.per, total.window, total.tick_milliseconds)
        words = figures_in_words(
            in_nats(total.epsilon), float(total.delta), per, float(total.delta_per_release)
        )
        if any(number > 1 for _, number in self.windows):
            counted = ", ".join(f"{number} of {pipeline}" for pipeline, number in self.windows)
            words += (
                f", which takes so many windows: {counted} (if all pipelines date records alike)"
            )
        return words


def sums(pipelines: Sequence[Promises]) -> list[Sum]:
    """Return a sum for every notion that any of the pipelines over a source states."""
    stated = [guarantee.notion for promises in pipelines for guarantee in promises.guarantees]
    return [_sum(notion, pipelines) for notion in dict.fromkeys(stated)]


def smallest_budget(pipelines: Sequence[Promises]) -> float | None:
    """Return the declared `source.budget` that counts; None without any."""
    declared = [promises.source_budget for promises in pipelines]
    return min((budget for budget in declared if budget is not None), default=None)


def check(source: str, pipelines: Sequence[Promises]) -> None:
    """Raise `StartRefused` if the pipelines over `source` exceed what was declared for it."""
    budget = smallest_budget(pipelines)
    if budget is None:
        return
    together = _sum(_WITHOUT_A_MODEL, pipelines)
    total = together.total
    if total is None:
        raise StartRefused(
            f"source.budget of {source} ({budget:g} nats) cannot be checked: {together.why_not}."
        )
    if total.epsilon > units_of(budget * (1.0 + _ROUNDING)):
        parts = " + ".join(
            f"{in_nats(_spend(_WITHOUT_A_MODEL, promises).epsilon):.6g} ({promises.pipeline})"
            for promises in pipelines
        )
        delta = delta_in_words(float(total.delta)) + rest_in_words(float(total.delta_per_release))
        raise StartRefused(
            f"source.budget of {source} is {budget:g} nats per "
            f"{per_in_words(total.per, total.window)}, but without a model the pipelines over it "
            f"add up to {in_nats(total.epsilon):.8g} nats{delta}: {parts}. Lower epsilon or "
            "budget.total "
            "of a pipeline that has not run yet, or raise source.budget in every file that "
            "declares it. What a stopped pipeline has released still counts."
        )


def _sum(notion: Notion, pipelines: Sequence[Promises]) -> Sum:
    try:
        spends = [_spend(notion, promises) for promises in pipelines]
        total, numbers = add(spends), windows_of(spends)
    except NotAddable as reason:
        return Sum(notion, None, str(reason))
    names = (promises.pipeline for promises in pipelines)
    return Sum(notion, total, windows=tuple(zip(names, numbers, strict=True)))


def _spend(notion: Notion, promises: Promises) -> Spend:
    """Return the figure of this notion, or that of a whole stream, which holds for every window."""
    for guarantee in promises.guarantees:
        if guarantee.notion == notion:
            return Spend.of(guarantee)
    for guarantee in promises.guarantees:
        if guarantee.per == "stream" and _OF_A_WINDOW.get(notion) == guarantee.notion:
            return Spend.of(guarantee)
    raise NotAddable(
        f"pipeline {promises.pipeline} states no {notion} figure. Compare pipelines in a figure "
        "that all of them state"
    )
