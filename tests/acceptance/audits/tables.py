"""Write what audits found as the page of results."""

from collections.abc import Sequence

from tests.acceptance.audits.found import RUNS, Row
from tests.acceptance.audits.summary import Summary, summaries
from tests.markdown import in_lines

HEADINGS = (
    "kind",
    "notion",
    "all neighbours",
    "claimed",
    "exact",
    "strongest attack",
    "claimed",
    "exact",
    "proved",
)
INTRODUCTION = f"""\
# `fugu audit` on the example of every kind

`make acceptance` writes this page: {RUNS:,} runs of each input, and a confidence of 99.9 % for all
bounds of a kind together. Of every kind and notion it shows the worst case and the attack that come
nearest to their claim, in nats; `audits.csv` has all of them. *exact* of an attack is what these
two inputs leak, and *proved* the lower bound that was found.

"""


def results(rows: Sequence[Row]) -> str:
    """Write the page of results, with what no audit reached."""
    table = in_lines([HEADINGS, ("---",) * len(HEADINGS), *map(_figures, summaries(rows))])
    return (
        INTRODUCTION
        + table
        + "\n## Checks that failed\n\n"
        + _listed([row for row in rows if row.part == "check" and row.broken])
        + "\n## Not reached\n\n"
        + _listed([row for row in rows if row.part in ("not reached", "no verdict")])
    )


def _figures(summary: Summary) -> tuple[str, ...]:
    worst, attack = summary.worst, summary.strongest
    name = f"**`{summary.kind}`**: BROKEN" if summary.broken else f"`{summary.kind}`"
    return (
        name,
        summary.notion,
        *(("not enumerated", "", "") if worst is None else _cells(worst, worst.exact)),
        *(("none", "", "", "") if attack is None else _cells(attack, attack.exact, attack.proved)),
    )


def _cells(row: Row, *figures: float | None) -> tuple[str, ...]:
    claimed = _nats(row.claimed) + (f", delta {row.delta:.1e}" if row.delta else "")
    return row.about, claimed, *map(_nats, figures)


def _nats(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.3f}"


def _listed(rows: Sequence[Row]) -> str:
    """List each text once, with the kinds that it is about."""
    kinds: dict[str, list[str]] = {}
    for row in rows:
        kinds.setdefault(row.about, []).append(f"`{row.kind}`")
    lines = [f"- {', '.join(some)}: {about}\n" for about, some in kinds.items()]
    return "".join(lines) or "None.\n"
