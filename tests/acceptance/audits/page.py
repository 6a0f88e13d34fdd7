"""Write the table of `docs/guarantees.md`: claim and proof of each kind, and what audits found."""

from collections.abc import Sequence
from math import isinf
from pathlib import Path
from tempfile import TemporaryDirectory

from fugu.dataflows.pipeline.guarantee_text import counted_in_windows
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.guarantee import Guarantee, Neighbours
from tests.acceptance.audits.found import Row
from tests.acceptance.audits.proofs import IN_NATS, PROOFS
from tests.acceptance.audits.summary import Summary, summaries
from tests.dataflows.kinds.example_files import example_of
from tests.markdown import in_lines

GUARANTEES = Path(__file__).parents[3] / "docs" / "guarantees.md"
BEGIN, END = "<!-- audits -->\n", "<!-- end of audits -->\n"
HEADINGS = ("kind", "claim", "neighbours", "proof", "exact", "proved by attack")


def written(rows: Sequence[Row]) -> str:
    """Return the page with the table of these results between its markers."""
    before, rest = GUARANTEES.read_text().split(BEGIN)
    found = {(one.kind, one.notion): one for one in summaries(rows)}
    lines = [
        (f"`{kind}`", _claim(promise), _neighbours(promise), f"`tests/{PROOFS[kind]}.py`", *figures)
        for kind in IN_NATS
        for promise in _promises(kind)
        for figures in [_figures(found.get((kind, promise.notion)))]
    ]
    table = in_lines([HEADINGS, ("---",) * len(HEADINGS), *lines])
    return before + BEGIN + table + END + rest.split(END)[1]


def _promises(kind: str) -> Sequence[Guarantee]:
    with TemporaryDirectory() as directory:
        return configure(example_of(kind, Path(directory))).mechanism.guarantees()


def _claim(promise: Guarantee) -> str:
    if isinf(promise.epsilon):
        return f"{promise.notion}: nothing"
    delta = f", delta {promise.delta:.0e}" if promise.delta else ""
    return f"{promise.notion} {promise.epsilon:.4g}{delta}"


def _neighbours(promise: Guarantee) -> str:
    return f"{_change(promise.neighbours)} {_extent(promise)}"


def _change(neighbours: Neighbours) -> str:
    what = neighbours.what
    match neighbours.change:
        case "believed":
            return f"the true {what}, against what the model says of it,"
        case "replaced":
            return f"another {what}"
        case "replaced-or-none":
            return f"another {what} or none"
        case "presence":
            return f"a {what} or none"
        case "stated":
            return "one secret that a policy states"
        case "delayed":
            return f"another {what}, up to {neighbours.reach} earlier"


def _extent(promise: Guarantee) -> str:
    match promise.per:
        case "release":
            return "in one release"
        case "window":
            return f"in any {promise.window} {counted_in_windows(promise)}"
        case "period":
            return f"in one of the periods of {promise.window} ticks"
        case "interval":
            return "in one relevance interval"
        case "stream":
            return "in the whole stream"


def _figures(summary: Summary | None) -> tuple[str, str]:
    if summary is None:
        return "", ""
    worst, attack = summary.worst, summary.strongest
    return (
        _of("" if worst is None else worst.exact, worst),
        _of("" if attack is None else attack.proved, attack),
    )


def _of(figure: float | str | None, row: Row | None) -> str:
    if row is None or not isinstance(figure, float):
        return "not enumerated" if row is None else ""
    text = f"{figure:.3f} of {row.claimed:.4g}"
    return f"**{text}**" if row.broken else text
