"""Draw a column of panels for each figure that privacy is stated in.

What stands above one another leaks equally much in that figure. An operator that promises nothing
is drawn dashed, at the epsilon that it claims, where it claims one.
"""

from operator import itemgetter
from pathlib import Path
from typing import Any

from fugu.dataflows.offline.evaluation.candidates import Candidate
from fugu.dataflows.offline.evaluation.estimates import Estimate
from fugu.dataflows.offline.evaluation.plot import RED, Block, Line, Lines, colours_of, save
from fugu.dataflows.offline.evaluation.report import Report, Row
from fugu.operators.mechanism import Notion

_FIGURES: dict[Notion, str] = {
    "ldp": "nats per record, without any model (ldp)",
    "sip": "nats per record, relative to the model (sip)",
    "delay-law": "epsilon, in nats",
}


def save_over_nats(report: Report[Any], path: Path) -> None:
    """Write the picture; its format follows from the name."""
    names = list(dict.fromkeys(name for row in report.rows for name in row.utility.panels()))
    panels = [[_panel(report, name, notion) for notion in report.notions] for name in names]
    sample = report.sample
    title = (
        f"{report.pipeline}: {sample.records:,} records of {sample.stream_count:,} streams, "
        f"runs: {report.runs}"
    )
    width = max(6.5, 4.6 * len(report.notions))
    save(path, title, [Block(panels, 2.5 * len(names) + 1.3)], width)


def _panel(report: Report[Any], name: str, notion: Notion) -> Lines:
    coloured = colours_of(row.candidate.name for row in report.rows if row.candidate.sound)
    found: dict[tuple[str, str], list[tuple[float, Estimate, Row[Any]]]] = {}
    for row in report.rows:
        nats = _nats(row.candidate, notion)
        for label, one in row.utility.panels()[name].items():
            if nats is not None:
                found.setdefault((row.candidate.name, label), []).append((nats, one, row))
    lines = []
    for (kind, label), points in found.items():
        sound = points[0][2].candidate.sound
        shown = kind if sound else f"{kind} (unsound: at the epsilon it claims)"
        configured = [nats for nats, _, row in points if row.configured and not label]
        lines.append(
            Line(
                f"{shown}, {label}" if label else shown,
                coloured.get(kind, RED),
                sorted(((nats, one) for nats, one, _ in points), key=itemgetter(0)),
                ":" if label else "-" if sound else "--",
                configured[0] if configured else None,
            )
        )
    return Lines(lines, _FIGURES[notion], name, logarithmic=name.startswith("MSE"))


def _nats(candidate: Candidate, notion: Notion) -> float | None:
    """Place a candidate, or nowhere.

    A law of delays stands at what it has, and what it is compared with at its epsilon.
    """
    exact = candidate.per_record(notion)
    if notion == "delay-law":
        return candidate.epsilon if exact is None else exact
    if candidate.sound:
        return exact
    claimed = candidate.mechanism.guarantees()[0].notion
    return candidate.epsilon if claimed == notion else None
