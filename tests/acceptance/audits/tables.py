"""Write what audits found as tables: the results, and those of `docs/guarantees.md`."""

from collections.abc import Sequence

from fugu.dataflows.kinds import KINDS
from tests.acceptance.audits.found import RUNS, Row
from tests.acceptance.audits.summary import Summary, summaries

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
    table = _lines([HEADINGS, ("---",) * len(HEADINGS), *map(_figures, summaries(rows))])
    return INTRODUCTION + table + "\n## Not reached\n\n" + _not_reached(rows)


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


def _not_reached(rows: Sequence[Row]) -> str:
    lines = []
    for kind in KINDS:
        parts = [row.about for row in rows if row.kind == kind and row.part == "not reached"]
        lines += [f"- `{kind}`: {part}\n" for part in parts]
    return "".join(lines)


def _lines(table: Sequence[tuple[str, ...]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in table).replace("| --- ", "|---")
