"""Print the expected noise of figures, and whose it is."""

from collections.abc import Callable, Iterator

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.sections import QuerySection
from fugu.dataflows.policies.wording import about, counted, measured, whose
from fugu.operators.swellfish.attribution import Attribution, Share
from fugu.operators.swellfish.improvement import Improvement
from fugu.operators.wevent.allocation import Booleans

Measured = Callable[[Booleans], float | None]
"""Says what was measured at the ticks of these stretches, in the unit of the data, if anything."""

HOW_TO_READ = (
    "noise: the mean of the ticks where it is relevant, whoever asks for it; alone: if there were "
    "no other collection",
    "sets Δ_t, sets δ: at so many ticks nobody's is larger; several may be as large",
    "without: the mean of all ticks without it, in the first row with all; what several ask for "
    "alike is saved only without all of them, so that savings do not add up",
)
_MOST_ROWS = 40


def print_noise(
    console: Console, document: PolicyDocument, found: Attribution, compared: Improvement | None
) -> None:
    """Print expected noise, whose it is, and what it would be without policies."""
    if compared is None:
        console.print("\nNothing is hidden in these days: every tick can be published exactly.")
        return
    console.print("\n[bold]Whose noise it is[/bold]")
    console.print(noise_table(document, found))
    console.print()
    query = document.section.query
    whole = compared.longest * document.policies.largest_sensitivity / document.section.epsilon
    for line in (
        *HOW_TO_READ,
        f"{compared.exact:.1%} of the ticks hide nothing: these can be published exactly",
        f"without policies it would be {about(whole, query)} at every tick, with epsilon for any "
        f"{counted(compared.longest, 'tick')}, as many as the longest interval here has",
    ):
        console.print(f"- {line}", highlight=False)


def noise_table(
    document: PolicyDocument, found: Attribution, error: Measured | None = None
) -> Table:
    """List collections and their policies; those first without which most noise would be saved."""
    query = document.section.query
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), show_edge=False, pad_edge=False)
    table.collapse_padding = True
    table.add_column("whose", overflow="fold")
    headings = ["ticks", "noise", "alone", "sets Δ_t", "sets δ", "without"]
    for heading in [*headings, "error"] if error else headings:
        table.add_column(heading, justify="right", no_wrap=True)
    mean = f"[bold]{about(found.mean, query)}[/bold]"
    where = f"{found.noisy:,}", about(found.where_noisy, query)
    everybody = "[bold]everybody[/bold]", *where, "", "", "", mean
    rows = [(found.noise > 0, everybody), *_rows(document, found)]
    for relevant, row in rows[:_MOST_ROWS]:
        erred = None if error is None else error(relevant)
        table.add_row(*row, *([] if erred is None else [measured(erred, query)]))
    if rows[_MOST_ROWS:]:
        table.add_row(f"... {len(rows) - _MOST_ROWS:,} more: --json")
    return table


def noise_data(
    document: PolicyDocument, found: Attribution, error: Measured | None = None
) -> dict[str, object]:
    """Return the same for a machine, in the unit of the data."""
    query = document.section.query

    def share_data(share: Share) -> dict[str, object]:
        erred = {} if error is None else {"mean_error_there": error(share.relevant)}
        return {
            "ticks": share.ticks,
            "mean_there": _number(share.noise, query),
            **erred,
            "mean_saved_without": _number(share.saved, query),
        }

    return {
        "epsilon": document.section.epsilon,
        "unit": query.unit,
        "ticks": found.ticks,
        "noisy_ticks": found.noisy,
        "mean": _number(found.mean, query),
        "mean_where_noisy": _number(found.where_noisy, query),
        "most": _number(found.most, query),
        "collections": {
            name: {
                **share_data(share),
                "mean_alone": _number(share.own, query),
                "sets_sensitivity_ticks": share.sets_sensitivity,
                "sets_affected_ticks": share.sets_affected,
                "policies": {policy: share_data(one) for policy, one in share.policies.items()},
            }
            for name, share in found.collections.items()
        },
    }


def _rows(
    document: PolicyDocument, found: Attribution
) -> Iterator[tuple[Booleans, tuple[str, ...]]]:
    """Yield at which stretches something is relevant, and its row."""
    query = document.section.query
    sections = {one.id: one.applies_to for one in document.section.collections}
    for name, share in sorted(found.collections.items(), key=lambda one: -one[1].saved):
        collection = (
            f"[bold]{name}[/bold], {whose(sections[name])}",
            f"{share.ticks:,}",
            about(share.noise, query) if share.ticks else "",
            about(share.own, query) if share.ticks else "",
            f"{share.sets_sensitivity:,}",
            f"{share.sets_affected:,}",
            about(found.mean - share.saved, query),
        )
        yield share.relevant, collection
        for policy, one in sorted(share.policies.items(), key=lambda one: -one[1].saved):
            noise = about(one.noise, query) if one.ticks else ""
            without = about(found.mean - one.saved, query)
            yield one.relevant, (f"  {policy}", f"{one.ticks:,}", noise, "", "", "", without)


def _number(units: float, query: QuerySection) -> float:
    return units * float(query.resolution)
