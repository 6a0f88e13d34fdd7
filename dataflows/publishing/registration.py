"""Enter a pipeline into the ledger before it reads its first record."""

import logging
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from fugu.dataflows.base.errors import StartContended, StartRefused
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.pipeline.joint import Told
from fugu.dataflows.pipeline.source_budget import Promises, check, sums
from fugu.dataflows.publishing.ledger_topic import (
    PipelineEntry,
    read_ledger,
    withdraw_entry,
    write_entry,
)
from fugu.operators.budget import RATE
from fugu.operators.guarantee import Guarantee, Notion, Point

EARLIER_WINDOWS = Point(
    "windows-before",
    "consecutive records that an earlier version of the pipeline released spend what that version "
    "promised, which may be more",
)


def continued(entry: PipelineEntry, known: PipelineEntry | None) -> PipelineEntry:
    """Return the entry with what was promised before, too; `known` is the one in the ledger.

    What was released under the earlier promise stays released, with its deltas. So an entry that
    takes the place of another one keeps them, whatever a later version promises of what comes.
    """
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


log = logging.getLogger(__name__)


def register(client: Client, ledger: Topic, entry: PipelineEntry) -> None:
    """Enter a pipeline and say what all pipelines over its source add up to.

    A pipeline that has once been entered stays there, since what it released stays released. Two
    that start at the same moment see each other in the second look; then both may be refused, never
    neither.

    Raises `StartRefused` if that is more than a declared `source.budget`, and `StartContended` if
    it became more while the pipeline was entered. A new pipeline is then not entered, or withdrawn.
    """
    _require_readable(client, ledger, entry)
    others, known = _others(client, ledger, entry)
    _refuse_a_second_sink(ledger, known, entry)
    entry = continued(entry, known)
    check(entry.source, promises_of([*others, entry]))
    if known != entry:
        write_entry(client, ledger, entry)
        others, _ = _others(client, ledger, entry)
        try:
            check(entry.source, promises_of([*others, entry]))
        except StartRefused as refusal:
            if known is None:
                withdraw_entry(client, ledger, entry)
            raise StartContended(
                f"another pipeline over {entry.source} was entered into ledger {ledger.name} at "
                f"the same moment: {refusal} If both were refused, start again: whichever comes "
                "first is entered."
            ) from None
    _say(ledger, entry, others)


def refuse_a_second_sink(client: Client, ledger: Topic, entry: PipelineEntry) -> None:
    """Refuse a pipeline that has released the same source into another topic."""
    _, known = _others(client, ledger, entry)
    _refuse_a_second_sink(ledger, known, entry)


def _refuse_a_second_sink(ledger: Topic, known: PipelineEntry | None, entry: PipelineEntry) -> None:
    if known is not None and known.sink_identity != entry.sink_identity:
        raise StartRefused(
            f"ledger {ledger.name}: pipeline {entry.pipeline} has already released {entry.source} "
            f"into topic {known.sink}, which was another one than {entry.sink} is now. Releasing "
            "it once more would be a second release under the same promise. Restore that topic "
            "and the state. A pipeline of another name is counted beside this one: what "
            "it releases adds to what was spent."
        )


def _require_readable(client: Client, ledger: Topic, entry: PipelineEntry) -> None:
    """Refuse to sum without what is entered about the same source and cannot be read."""
    unreadable = {
        found.why
        for found in read_ledger(client, ledger).unreadable
        if found.source_identity == entry.source_identity and found.source in (entry.source, "")
    }
    if unreadable:
        raise StartRefused(
            f"ledger {ledger.name}: not everything that is promised over {entry.source} can be "
            f"read. {' '.join(sorted(unreadable))} Run all pipelines of a ledger with one version. "
            "Write a damaged entry again as it was (a copy of the topic has it)."
        )


def _others(
    client: Client, ledger: Topic, entry: PipelineEntry
) -> tuple[list[PipelineEntry], PipelineEntry | None]:
    """Return entries of other pipelines over the same source, and the own one if there is one."""
    entries = [
        found
        for found in read_ledger(client, ledger).pipelines
        if (found.source, found.source_identity) == (entry.source, entry.source_identity)
    ]
    own = [found for found in entries if found.pipeline == entry.pipeline]
    return [found for found in entries if found not in own], own[0] if own else None


def promises_by_source(entries: Iterable[PipelineEntry]) -> dict[str, list[Promises]]:
    """Return what pipelines have entered; a topic that was created anew is another source."""
    sources: dict[tuple[str, str], list[PipelineEntry]] = {}
    for entry in entries:
        sources.setdefault((entry.source, entry.source_identity), []).append(entry)
    topics = Counter(topic for topic, _ in sources)
    return {
        topic if topics[topic] == 1 else f"{topic} ({identity})": promises_of(found)
        for (topic, identity), found in sources.items()
    }


def promises_of(entries: Iterable[PipelineEntry]) -> list[Promises]:
    """Return what pipelines over one source have entered, by name."""
    return [
        Promises(entry.pipeline, entry.guarantees, entry.source_budget)
        for entry in sorted(entries, key=lambda entry: entry.pipeline)
    ]


def told_by(entry: PipelineEntry) -> Told:
    """Return what a pipeline tells about one value: as it declares, or as its promises say."""
    return entry.told or Told.promised(entry.pipeline, entry.guarantees)


def _say(ledger: Topic, entry: PipelineEntry, others: list[PipelineEntry]) -> None:
    log.info("ledger %s: %d other pipelines over %s", ledger.name, len(others), entry.source)
    for together in sums(promises_of([*others, entry])):
        log.info("together, %s: %s", together.notion, together.in_words)
