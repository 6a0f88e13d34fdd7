"""Write the privacy card as one HTML page, which needs nothing from anywhere else."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from fugu.dataflows.offline.card.about_pipeline import about_pipeline
from fugu.dataflows.offline.card.facts import Facts
from fugu.dataflows.offline.card.ledgers import about_ledgers
from fugu.dataflows.offline.card.markup import Markup, defined, element, joined, listed, table
from fugu.dataflows.pipeline.guarantee_text import consequence_of, notion_in_words, stated
from fugu.dataflows.pipeline.source_budget import Promises, declared_budgets, sums
from fugu.operators.guarantee import Guarantee

_STYLE = Path(__file__).with_name("page.css").read_text()
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_WORDS = {
    "epsilon": (
        "how much a release may change what somebody believes, in nats. At 0 it changes nothing; "
        "at 1 odds change by a factor of 2.7 at most, at 3 by 20, at 10 by 22,000"
    ),
    "delta": (
        "it is as if, with this chance at most, nothing were promised, and otherwise all of it. "
        "More than epsilon may be given away more often than that, by little. Where no delta is "
        "stated, it is 0 or what finite precision of numbers costs"
    ),
    "composition": (
        "promises about the same people add up: two pipelines, or two windows, give away more than "
        "one"
    ),
    "ledger": "the topic in which pipelines over a source enter what they promise",
    "dead letter": "the place and the reason of a record that was refused; never its content",
}


def page(facts: Facts) -> str:
    """Return the whole page."""
    names = ", ".join(one.name for one in facts.pipelines)
    title = f"Privacy report: {names}"
    head = element(
        "head",
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        element("title", title),
        element("style", Markup(_STYLE)),
    )
    body = element("body", _header(facts, names), element("main", *_sections(facts)), _footer())
    return f'<!doctype html>\n<html lang="en">{head}{body}</html>\n'


def _header(facts: Facts, names: str) -> Markup:
    made = f"Written {facts.made:%Y-%m-%d %H:%M} UTC by Fugu {facts.version} from the files given."
    return element(
        "header",
        element("p", "Privacy report", class_="kicker"),
        element("h1", names),
        element("p", made),
    )


def _sections(facts: Facts) -> Iterator[Markup]:
    if facts.exceeded is not None:
        yield element("section", element("p", facts.exceeded, class_="alarm"))
    if any(one.accuracy is not None for one in facts.pipelines):
        inside = (
            "This page holds figures that were computed from true values (“How accurate”). Keep it "
            "in the trusted zone, or write it again without --sample before you hand it on."
        )
        yield element("section", element("p", inside, class_="alarm"))
    yield _at_a_glance(facts)
    for one in facts.pipelines:
        yield about_pipeline(one, looked=facts.looked_at_kafka)
    yield element("section", element("h2", "All pipelines together"), *_together(facts))
    yield element("section", element("h2", "Budget ledger"), *about_ledgers(facts))
    yield element("section", element("h2", "Words"), defined(dict(_WORDS)))


def _at_a_glance(facts: Facts) -> Markup:
    rows: list[list[str | None]] = []
    for one in facts.pipelines:
        pipeline = one.file.pipeline
        route = f"{pipeline.source.topic} → {pipeline.sink.topic}"
        for guarantee in one.mechanism.guarantees():
            promise = f"{notion_in_words(guarantee.notion)}: {_stated(guarantee)}"
            guesses = consequence_of(guarantee).guesses
            gained = guesses[0].in_words if guesses else "no number limits a guess"
            rows.append([pipeline.name, route, promise, gained])
    columns = ["pipeline", "private → sanitized topic", "promise", "what a guess gains"]
    return element(
        "section", element("h2", "At a glance"), table("What is promised", columns, rows)
    )


def _stated(guarantee: Guarantee) -> str:
    bounded = guarantee.sound and guarantee.epsilon < float("inf") and guarantee.total_delta < 1.0
    if guarantee.notion == "anonymity":
        return "no epsilon"
    return stated(guarantee) if bounded else "no bound"


def _together(facts: Facts) -> Iterator[Markup]:
    shared = {source: found for source, found in facts.sources.items() if len(found) > 1}
    if len(facts.pipelines) == 1:
        yield element(
            "p",
            "This report is about one pipeline. What others release about the same people adds to "
            "it; give their files, too, and the sums stand here.",
        )
    elif not shared:
        yield element(
            "p",
            "No two of these pipelines read the same topic. Where their topics are about the same "
            "people, their promises add up all the same.",
        )
    for source, promises in shared.items():
        yield element("h3", f"About {source}")
        yield listed(*_sums(promises))
    for joint in facts.joints:
        yield element("h3", f"{joint.first} and {joint.second}, {joint.topology}")
        yield element("p", f"{joint.meaning[0].upper()}{joint.meaning[1:]}.")


def _sums(promises: Sequence[Promises]) -> Iterator[Markup]:
    for one in sums(promises):
        yield joined(element("b", notion_in_words(one.notion)), f", together: {one.in_words}.")
    for budget in declared_budgets(promises):
        yield joined(element("b", "allowed"), f" (source.budget): {budget.in_words}.")


def _footer() -> Markup:
    words = (
        "This page is made from pipeline files and from what was measured. It proves nothing by "
        "itself: fugu explain prints every promise with its proof, and fugu audit attacks it."
    )
    return element("footer", element("p", words))
