"""Rank what was compared by its error, among rows whose proved privacy is equal."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import hypot, isnan
from typing import Any

from fugu.dataflows.offline.evaluation.estimates import Estimate
from fugu.dataflows.offline.evaluation.report import Report, Row
from fugu.operators.guarantee import Notion

_SIGNIFICANT = 2.0
"""Standard errors by which two rows differ more than draws do."""
_ALIKE = 1e-9
_ROUNDED = 0.01
"""Rivals of a law of delays get its epsilon, rounded up to three digits."""


@dataclass(frozen=True)
class Guess:
    """Hold what a constant in place of every release errs, and what to do where it errs least."""

    what: str
    error: float
    advice: str


@dataclass(frozen=True)
class Ranked:
    """Hold a row with its place, and its error as a multiple of the smallest."""

    row: Row[Any]
    error: Estimate
    times_best: float
    tied: bool
    """True if the draws do not tell it from the best one."""


def ranked(report: Report[Any], notion: Notion | None) -> list[Ranked]:
    """Return sound rows that prove as much as the pipeline's own, smallest error first.

    Of rows whose law is the same, as where a larger epsilon changes nothing, the first one counts.
    """
    own = report.own
    alike = [row for row in report.rows if row.candidate.sound and _alike(row, own, notion)]
    laws = {_law(row): row for row in reversed(alike)}
    rows = [row for row in alike if laws[_law(row)] is row]
    found = [(row, measured[1]) for row in rows if (measured := row.utility.ranked_by())]
    found = [(row, error) for row, error in found if not isnan(error.value)]
    found.sort(key=lambda one: one[1].value)
    if not found:
        return []
    best = found[0][1]
    return [Ranked(row, error, _times(error, best), _tied(error, best)) for row, error in found]


def in_words(report: Report[Any], found: list[Ranked], guess: Guess | None) -> Iterator[str]:
    """Say the order and why, and warn where a constant would be nearer to the truth."""
    if not found:
        return
    what, _ = report.own.utility.ranked_by() or ("", None)
    yield f"Ranked by {what}, among rows that prove as much as the pipeline's own:"
    for place, one in enumerate(found, 1):
        candidate = one.row.candidate
        name = f"{candidate.name} at eps {candidate.epsilon:g}{' *' * one.row.configured}"
        parts = [one.error.rounded(), one.row.utility.why()]
        if place > 1:
            parts.append(f"{one.times_best:.2f} times the first")
            parts.append("which draws do not tell apart: use more --runs" * one.tied)
        yield f"  {place}. {name}: {', '.join(part for part in parts if part)}"
    if guess is not None and found[0].error.value > guess.error:
        yield (
            f"WARNING: a constant, {guess.what}, errs by {guess.error:.4g}, less than any of them. "
            f"{guess.advice}"
        )


def _law(row: Row[Any]) -> tuple[str, bytes]:
    return row.candidate.name, row.candidate.mechanism.law_digest()


def _alike(row: Row[Any], own: Row[Any], notion: Notion | None) -> bool:
    first, second = row.candidate, own.candidate
    if first.window != second.window:
        return False
    nats, apart = [first.epsilon, second.epsilon], _ALIKE
    if notion is not None:
        proved = [first.place(notion), second.place(notion)]
        if None in proved:
            return proved == [None, None] and abs(nats[0] - nats[1]) < _ALIKE
        nats = [float(one or 0.0) for one in proved]
        apart = _ROUNDED if notion == "delay-law" else _ALIKE
    return abs(nats[0] - nats[1]) < apart * max(1.0, *nats)


def _times(error: Estimate, best: Estimate) -> float:
    return error.value / best.value if best.value > 0.0 else 1.0


def _tied(error: Estimate, best: Estimate) -> bool:
    spread = hypot(error.standard_error, best.standard_error)
    return bool(error.value - best.value < _SIGNIFICANT * spread)
