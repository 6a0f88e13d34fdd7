"""Continue a promise where the ledger holds an earlier one of the same pipeline.

What was released under the earlier promise stays released, with its deltas. So an entry that takes
the place of another one keeps them, whatever a later version promises of what comes.
"""

from collections.abc import Iterable
from dataclasses import replace

from fugu.dataflows.publishing.entries import PipelineEntry
from fugu.operators.budget_guarantees import RATE
from fugu.operators.guarantee import Guarantee, Notion
from fugu.operators.points import Point

EARLIER_WINDOWS = Point(
    "windows-before",
    "consecutive records that an earlier version of the pipeline released spend what that version "
    "promised, which may be more",
)


def continued(entry: PipelineEntry, known: PipelineEntry | None) -> PipelineEntry:
    """Return the entry with what was promised before, too; `known` is the one in the ledger."""
    if known is None:
        return entry
    if entry.told is not None:
        before = known.told or replace(entry.told, memoryless=False)
        entry = replace(entry, told=entry.told.after(before))
    if known.guarantee_id == entry.guarantee_id:
        return replace(entry, guarantees=known.guarantees)
    joined = (_joined(now, _same_figure(now, known.guarantees)) for now in entry.guarantees)
    return replace(entry, guarantees=tuple(joined))


def _same_figure(now: Guarantee, before: Iterable[Guarantee]) -> Guarantee | None:
    """Return the earlier promise about the same: one for every prior holds under a model, too."""
    known = {(one.notion, one.per, one.window): one for one in before}
    notions: tuple[Notion, ...] = ("sip", "ldp") if now.notion == "sip" else (now.notion,)
    for notion in notions:
        if found := known.get((notion, now.per, now.window)):
            return found
    if now.per != "stream":
        return None
    return next((one for one in known.values() if one.notion in notions), None)


def _joined(now: Guarantee, before: Guarantee | None) -> Guarantee:
    """Return what both say together: a total over a stream's life goes on and is not added.

    The same figures about the same neighbours are one promise, whatever its words were. No more
    than figures is known of the loss where both do not state the same.
    """
    if before is None or not before.sound:
        return now
    known = replace(
        now,
        loss=now.loss if before.loss == now.loss else None,
        accounting=(*now.accounting, *_earlier_windows(now, before)),
    )
    if _same(before, now):
        return known
    return replace(
        known,
        epsilon=now.epsilon if now.per == "stream" else max(now.epsilon, before.epsilon),
        delta=max(now.delta, before.delta),
        finite_precision_delta=now.finite_precision_delta + before.finite_precision_delta,
        delta_per_release=max(now.delta_per_release, before.delta_per_release),
    )


def _earlier_windows(now: Guarantee, before: Guarantee) -> tuple[Point, ...]:
    """Return the point that a limit of windows does not hold for releases of before."""
    limits = {point for point in now.accounting if point.name == RATE.name}
    kept = limits <= set(before.accounting) and EARLIER_WINDOWS not in before.accounting
    return (EARLIER_WINDOWS,) if limits and not kept else ()


def _same(before: Guarantee, now: Guarantee) -> bool:
    """Return whether two promises differ in points, and in what is known of the loss, alone."""
    in_other_words = replace(
        before,
        adversary=now.adversary,
        accounting=now.accounting,
        trust=now.trust,
        assumptions=now.assumptions,
        not_covered=now.not_covered,
        proof=now.proof,
        loss=now.loss,
    )
    return in_other_words == now
