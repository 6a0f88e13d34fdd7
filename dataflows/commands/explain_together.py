"""What the pipelines given to `fugu explain` let out together, source by source."""

from collections.abc import Mapping, Sequence
from math import isfinite

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dataflows.errors import StartRefused
from dataflows.guarantee_text import notion_in_words, per_in_words
from dataflows.source_budget import Promises, Sum, check, smallest_budget, sums
from operators.mechanism import Guarantee
from operators.nats import in_nats

BySource = Mapping[str, Sequence[Promises]]


def print_together(console: Console, sources: BySource) -> None:
    """For every source that several pipelines read: what each of them promises, and the sums."""
    for source, pipelines in _shared(sources).items():
        table = Table(title=f"Together, about {source}", title_justify="left")
        for heading in ("pipeline", "notion", "epsilon in nats", "per"):
            table.add_column(heading, overflow="fold")
        for promises in pipelines:
            for guarantee in promises.guarantees:
                table.add_row(
                    promises.pipeline,
                    notion_in_words(guarantee.notion),
                    f"{guarantee.epsilon:.6g}" if _bounded(guarantee) else "no bound",
                    per_in_words(guarantee.per, guarantee.window),
                )
        console.print(table)
        for together in sums(pipelines):
            console.print(f"- {escape(_sum_in_words(together))}")
        budget = smallest_budget(pipelines)
        if budget is not None:
            console.print(f"- source.budget, without a model: {budget:g} nats.")
        console.print()


def together_documents(sources: BySource) -> list[dict[str, object]]:
    """The same for a machine."""
    return [
        {
            "source": source,
            "promises": [
                {
                    "pipeline": promises.pipeline,
                    "notion": guarantee.notion,
                    "epsilon": guarantee.epsilon if _bounded(guarantee) else None,
                    "per": guarantee.per,
                    "window": guarantee.window,
                }
                for promises in pipelines
                for guarantee in promises.guarantees
            ],
            "sums": [_sum_document(together) for together in sums(pipelines)],
            "source_budget": smallest_budget(pipelines),
        }
        for source, pipelines in _shared(sources).items()
    ]


def check_budgets(sources: BySource) -> None:
    """`StartRefused` for all sources whose `source.budget` does not allow its pipelines."""
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
    return guarantee.sound and isfinite(guarantee.epsilon)


def _sum_in_words(together: Sum) -> str:
    notion, total = notion_in_words(together.notion), together.total
    if total is None:
        return f"{notion}: no sum. {together.why_not}."
    return (
        f"{notion}: {in_nats(total.epsilon):.6g} nats per {per_in_words(total.per, total.window)} "
        f"together, with a delta of {float(total.delta):.3g}, and of "
        f"{float(total.finite_precision_delta):.3g} per record for finite precision."
    )


def _sum_document(together: Sum) -> dict[str, object]:
    total = together.total
    if total is None:
        return {"notion": together.notion, "epsilon": None, "why_not": together.why_not}
    return {
        "notion": together.notion,
        "epsilon": in_nats(total.epsilon),
        "delta": float(total.delta),
        "finite_precision_delta": float(total.finite_precision_delta),
        "per": total.per,
        "window": total.window,
        "why_not": None,
    }
