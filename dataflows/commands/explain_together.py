"""Say what the pipelines given to `fugu explain` release together, source by source."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isfinite

from rich.markup import escape

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.commands.output import Terminal, folding_table
from fugu.dataflows.pipeline.guarantee_text import notion_in_words, protected_in_words, stated
from fugu.dataflows.pipeline.joint import Joint
from fugu.dataflows.pipeline.source_budget import (
    Promises,
    Sum,
    budgeted,
    check,
    declared_budgets,
    sums,
)
from fugu.operators.budget_units import in_nats
from fugu.operators.composition.spend import IN_WORDS
from fugu.operators.guarantee import Guarantee
from fugu.operators.leakage.inversion import rounded_up


def print_joint(console: Terminal, found: Joint) -> None:
    """Print what two pipelines about the same people tell about one value."""
    title = f"About the same people, {found.topology}: nats about one value"
    columns = ("by which ticks, to whom", found.first, found.second, "together")
    table = folding_table(*columns, title=title, title_justify="left")
    if found.per_value is not None:
        table.add_row("its own, to anybody", *map(rounded_up, found.per_value))
    for ticks, *figures in found.after or ():
        table.add_row(f"{ticks}, who knows the matrix", *map(rounded_up, figures))
    if found.limit is not None:
        table.add_row("all, who knows the matrix", *map(rounded_up, found.limit))
    console.print(table)
    named = found.meaning.startswith((found.first, found.second))
    first = found.meaning[0] if named else found.meaning[0].upper()
    console.print(f"- {escape(first + found.meaning[1:])}.")
    if found.why_not is not None:
        console.print(f"- No more: {escape(found.why_not)}.")
    console.print(
        "- This counts one record of a person in each tick, and is no differential privacy: it is "
        "relative to the matrix. Sums of promises do not depend on what is declared here."
    )


BySource = Mapping[str, Sequence[Promises]]


def print_together(console: Terminal, sources: BySource) -> None:
    """Print what the pipelines over each common source promise, and the sums."""
    for source, pipelines in _shared(sources).items():
        look = {"title": f"Together, about {source}", "title_justify": "left"}
        table = folding_table("pipeline", "notion", "promise", "protecting", **look)
        for promises in pipelines:
            for guarantee in promises.guarantees:
                table.add_row(
                    escape(promises.pipeline),
                    notion_in_words(guarantee.notion),
                    _promised(guarantee),
                    escape(protected_in_words(guarantee)),
                )
        console.print(table)
        _print_sums_of(console, pipelines)
        console.print()


def print_sums(console: Terminal, sources: BySource) -> None:
    """Print only the sums."""
    for source, pipelines in _shared(sources).items():
        console.print(f"Together, about {escape(source)}:")
        _print_sums_of(console, pipelines)


def _print_sums_of(console: Terminal, pipelines: Sequence[Promises]) -> None:
    for together in sums(pipelines):
        console.print(f"- {escape(_sum_in_words(together))}")
    for budget in declared_budgets(pipelines):
        notion = notion_in_words(budgeted(pipelines).notion)
        console.print(f"- source.budget, of {notion}: {budget.in_words}.")


def together_documents(sources: BySource) -> list[dict[str, object]]:
    """Return the same for a machine."""
    return [
        {
            "source": source,
            "promises": [
                {
                    "pipeline": promises.pipeline,
                    "notion": guarantee.notion,
                    "epsilon": guarantee.epsilon if _bounded(guarantee) else None,
                    "delta": guarantee.total_delta if _bounded(guarantee) else None,
                    "per": guarantee.per,
                    "window": guarantee.window,
                    "tick_milliseconds": guarantee.tick_milliseconds,
                    "neighbours": asdict(guarantee.neighbours),
                }
                for promises in pipelines
                for guarantee in promises.guarantees
            ],
            "sums": [_sum_document(together) for together in sums(pipelines)],
            "source_budgets": [asdict(budget) for budget in declared_budgets(pipelines)],
        }
        for source, pipelines in _shared(sources).items()
    ]


def check_budgets(sources: BySource) -> None:
    """Raise `StartRefused` for all sources whose `source.budget` does not allow its pipelines."""
    problems = []
    for source, pipelines in sources.items():
        try:
            check(source, pipelines)
        except StartRefused as problem:
            problems.append(str(problem))
    if problems:
        raise StartRefused("\n".join(problems))


def _shared(sources: BySource) -> BySource:
    return {source: pipelines for source, pipelines in sources.items() if len(pipelines) > 1}


def _bounded(guarantee: Guarantee) -> bool:
    bounded = isfinite(guarantee.epsilon) and guarantee.total_delta < 1.0
    return guarantee.sound and bounded


def _promised(guarantee: Guarantee) -> str:
    return stated(guarantee) if _bounded(guarantee) else "no bound"


def _sum_in_words(together: Sum) -> str:
    return f"{notion_in_words(together.notion)}, together: {together.in_words}."


def _sum_document(together: Sum) -> dict[str, object]:
    total, figure = together.total, together.figure
    if total is None or figure is None:
        return {"notion": together.notion, "epsilon": None, "why_not": together.why_not}
    return {
        "notion": together.notion,
        "epsilon": in_nats(figure.epsilon),
        "delta": float(figure.delta),
        "account": IN_WORDS[figure.account],
        "epsilons_added": in_nats(total.epsilon),
        "delta_per_release": float(total.delta_per_release),
        "per": total.per,
        "window": total.window,
        "tick_milliseconds": total.tick_milliseconds,
        "windows_of_pipelines": dict(together.windows),
        "in_words": together.in_words,
        "why_not": None,
    }
