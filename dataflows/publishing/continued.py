"""Continue a promise where the ledger holds an earlier one of the same pipeline.

What was released under the earlier promise stays released, with its deltas. So an entry that takes
the place of another one keeps them, whatever a later version promises of what comes.
"""

from dataclasses import replace

from fugu.dataflows.publishing.entries import PipelineEntry
from fugu.operators.guarantee import Guarantee


def continued(entry: PipelineEntry, known: PipelineEntry | None) -> PipelineEntry:
    """Return the entry with what was promised before, too; `known` is the one in the ledger."""
    if known is None:
        return entry
    if known.guarantee_id == entry.guarantee_id:
        return replace(entry, guarantees=known.guarantees)
    before = {(one.notion, one.per, one.window): one for one in known.guarantees}
    joined = (
        _joined(now, before.get((now.notion, now.per, now.window))) for now in entry.guarantees
    )
    return replace(entry, guarantees=tuple(joined))


def _joined(now: Guarantee, before: Guarantee | None) -> Guarantee:
    """Return what both say together: a total over a stream's life goes on and is not added."""
    if before is None or not before.sound or _in_other_words(before, now) == now:
        return now
    return replace(
        now,
        epsilon=now.epsilon if now.per == "stream" else max(now.epsilon, before.epsilon),
        delta=max(now.delta, before.delta),
        finite_precision_delta=now.finite_precision_delta + before.finite_precision_delta,
        delta_per_release=max(now.delta_per_release, before.delta_per_release),
        loss=None,
    )


def _in_other_words(before: Guarantee, now: Guarantee) -> Guarantee:
    """Return the earlier promise with the points of the present one: under both figures and the
    same neighbours, what goes on is one promise."""
    return replace(
        before,
        adversary=now.adversary,
        accounting=now.accounting,
        trust=now.trust,
        assumptions=now.assumptions,
        not_covered=now.not_covered,
        proof=now.proof,
    )
