"""Write what ledgers say of pipelines and of what streams have spent."""

from collections.abc import Iterator

from fugu.dataflows.offline.card.facts import Facts
from fugu.dataflows.offline.card.markup import Markup, element, table
from fugu.dataflows.offline.card.pictures import histogram
from fugu.dataflows.pipeline.guarantee_text import in_words
from fugu.dataflows.publishing.ledger_topic import LedgerContent, StreamEntry


def about_ledgers(facts: Facts) -> Iterator[Markup]:
    """Yield what ledgers hold, or why that is not known."""
    declared = [one for one in facts.pipelines if one.file.pipeline.ledger is not None]
    if not declared:
        words = (
            "None of these pipelines names a ledger. So nothing counts what other pipelines "
            "release about the same source, and no start is refused because of it."
        )
        yield element("p", words)
    elif not facts.looked_at_kafka:
        words = "Nobody looked: write the report with --kafka, where Kafka can be reached."
        yield element("p", words)
    for topic, content in facts.ledgers.items():
        yield element("h3", topic)
        yield from _ledger(content)


def _ledger(content: LedgerContent) -> Iterator[Markup]:
    rows: list[list[str | None]] = [
        [entry.pipeline, entry.source, " ".join(map(in_words, entry.guarantees))]
        for entry in sorted(content.pipelines, key=lambda one: (one.source, one.pipeline))
    ]
    yield table("Pipelines in the ledger", ["pipeline", "source", "promise"], rows)
    for unreadable in content.unreadable:
        yield element(
            "p",
            f"{unreadable.why} It is in no sum.",
            class_="alarm",
        )
    for pipeline in sorted({entry.pipeline for entry in content.streams}):
        own = [entry for entry in content.streams if entry.pipeline == pipeline]
        yield from _streams(pipeline, own)


def _streams(pipeline: str, own: list[StreamEntry]) -> Iterator[Markup]:
    spent = {f"{10 * tenth} %": 0 for tenth in range(1, 10)} | {"spent": 0}
    for entry in own:
        tenth = max(1, entry.tenths)
        spent["spent" if entry.exhausted or tenth > 9 else f"{10 * tenth} %"] += 1
    ended = spent["spent"]
    words = (
        f"{pipeline}: {len(own):,} streams have spent a tenth of their budget or more, and "
        f"{ended:,} of them all of it. Bars count streams by what they have spent at least."
    )
    yield element("p", words)
    yield histogram(spent, words)
