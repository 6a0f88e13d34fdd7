"""Write what a privacy card says of one pipeline."""

from collections.abc import Iterable, Iterator, Mapping
from inspect import cleandoc
from typing import Any

from fugu.dataflows.kinds import KINDS
from fugu.dataflows.offline.card.audited import about_audit
from fugu.dataflows.offline.card.facts import DeadLetterCounts, PipelineFacts
from fugu.dataflows.offline.card.markup import (
    Content,
    Markup,
    defined,
    element,
    joined,
    listed,
    table,
)
from fugu.dataflows.offline.card.pictures import bar, flow, key
from fugu.dataflows.offline.evaluation.estimates import NOTHING
from fugu.dataflows.offline.evaluation.report import Report
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.pipeline.guarantee_data import guarantee_id
from fugu.dataflows.pipeline.guarantee_text import (
    consequence_of,
    parts_in_words,
    pipeline_not_covered,
)
from fugu.dataflows.pipeline.policy_changes import policies_relied_on, who_can_change
from fugu.dataflows.pipeline.source_section import TimestampField
from fugu.dataflows.stages.stage_kind import StageKind
from fugu.operators.guarantee import Guarantee

_KEYS = {
    "pseudonym": "a pseudonym as key, the same for ever in this topic",
    "original": "the key of the private record, as it is",
    "none": "no key",
}


def about_pipeline(facts: PipelineFacts, *, looked: bool) -> Markup:
    """Return the section of a pipeline; `looked` says whether Kafka was asked."""
    pipeline, mechanism = facts.file.pipeline, facts.mechanism
    guarantees = mechanism.guarantees()
    first = guarantees[0]
    relied_on = [str(first.trust), *map(str, first.assumptions), *policies_relied_on(pipeline)]
    not_covered = [*map(str, first.not_covered), *pipeline_not_covered(pipeline)]
    leakage = pipeline.operator.temporal_leakage(mechanism)
    parts: list[Content] = [
        element("h2", pipeline.name),
        element("h3", "What goes in and out"),
        _flow(facts),
        element("h3", "What is promised"),
        key([("before", "without releases"), ("added", "gained by them, at most")]),
        *map(_promise, guarantees),
    ]
    if leakage is not None:
        parts += [
            element("h3", "Against adversaries who know how ticks depend on each other"),
            listed(leakage.words, f"Backwards in time: {leakage.backward_is}."),
        ]
    parts += [
        element("h3", "What is not covered"),
        listed(*not_covered),
        element("h3", "What the promise relies on"),
        listed(*relied_on),
    ]
    if can_change := who_can_change(pipeline):
        parts += [element("h3", "Who can change policies"), listed(*can_change)]
    parts += [element("h3", "Was it attacked?"), *about_audit(facts)]
    parts += [element("h3", "How accurate"), *_accuracy(facts.accuracy)]
    parts += [element("h3", "Refused records"), *_refused(facts.dead_letters, looked)]
    parts += [element("h3", "Configuration"), _configuration(facts)]
    return element("section", *parts, class_="pipeline")


def _flow(facts: PipelineFacts) -> Markup:
    pipeline = facts.file.pipeline
    fields = ", ".join(_fields_read(pipeline))
    does = cleandoc(KINDS[pipeline.operator.kind].__doc__ or "").split("\n")[0].rstrip(".")
    return flow(
        joined("Topic ", element("code", pipeline.source.topic), f". Of a record: key, {fields}."),
        joined(element("code", pipeline.operator.kind), f": {does}."),
        joined(
            "Topic ",
            element("code", pipeline.sink.topic),
            f", with {_key(facts)}.",
        ),
        joined(
            " Refused records: place and reason, in ",
            element("code", pipeline.sink.dead_letter_topic),
            ".",
        ),
    )


def _fields_read(pipeline: Pipeline) -> Iterable[str]:
    """Return every field that is looked at, each once: also those of time and event id."""
    source = pipeline.source
    fields = [*pipeline.operator.fields_read(source.fields)]
    fields += [source.timestamp.field] if isinstance(source.timestamp, TimestampField) else []
    fields += [] if source.dedupe is None else [source.dedupe.field]
    return dict.fromkeys(fields)


def _key(facts: PipelineFacts) -> str:
    pipeline = facts.file.pipeline
    of_groups = pipeline.operator.stage is StageKind.AGGREGATE and pipeline.sink.key != "none"
    return "the group as key" if of_groups else _KEYS[pipeline.sink.key]


def _promise(guarantee: Guarantee) -> Markup:
    (_, promise), *rest = parts_in_words(guarantee).items()
    consequence = consequence_of(guarantee)
    guesses = (
        element(
            "div",
            element("p", one.in_words),
            bar(one.before, one.after, one.in_words),
            class_="guess",
        )
        for one in consequence.guesses
    )
    return element(
        "div",
        element("h4", promise),
        element("p", element("b", "What this means: "), consequence.words),
        *guesses,
        defined(dict(rest)),
        class_="promise",
    )


def _accuracy(report: Report[Any] | None) -> Iterator[Markup]:
    if report is None:
        yield element("p", "Nobody measured: give a sample (--sample), inside the trusted zone.")
        return
    own, sample = report.own, report.sample
    yield element(
        "p",
        f"Measured on {sample.records:,} records of {sample.stream_count:,} streams, "
        f"{report.runs} runs, with {own.candidate.name} at epsilon {own.candidate.epsilon:g}"
        f"{'' if own.configured else ' (the configured one could not be tried)'}.",
    )
    guess = next(iter(report.beside), None)
    for title, cells in own.utility.tables().items():
        beside = {} if guess is None else guess.tables.get(title, {})
        yield _measures(title, cells, beside, "" if guess is None else guess.name)


def _measures(title: str, cells: Mapping[str, str], beside: Mapping[str, str], name: str) -> Markup:
    told = {what: cell for what, cell in cells.items() if cell and cell != NOTHING}
    if not beside:
        return table(title, ["measure", "value"], [[*one] for one in told.items()], 1)
    rows: list[list[Content]] = [[what, cell, beside.get(what, "")] for what, cell in told.items()]
    return table(title, ["measure", "this pipeline", name], rows, 1, 2)


def _refused(counts: DeadLetterCounts | None, looked: bool) -> Iterator[Markup]:
    if counts is None:
        not_there = "The topic of dead letters is not there yet."
        nobody = "Nobody looked: write the report with --kafka, and they are counted by reason."
        yield element("p", not_there if looked else nobody)
        return
    total = sum(counts.by_reason.values())
    since = "" if counts.first_there else ", of what retention has left there"
    yield element("p", f"{total:,} dead letters in {counts.topic}{since}.")
    if counts.by_reason:
        rows: list[list[Content]] = [
            [reason, f"{number:,}"]
            for reason, number in sorted(counts.by_reason.items(), key=lambda one: -one[1])
        ]
        yield table("Refused records by reason", ["reason", "records"], rows, 1)


def _configuration(facts: PipelineFacts) -> Markup:
    guarantees = facts.mechanism.guarantees()
    shown: dict[str, Content] = {
        name: element("code", str(told)) for name, told in facts.parameters.items()
    }
    shown["pipeline file"] = joined(
        element("code", facts.file.path.name), " SHA-256 ", element("code", facts.digest)
    )
    shown["law"] = element("code", facts.mechanism.law_digest().hex())
    shown["promise"] = joined(
        element("code", guarantee_id(guarantees).decode()), ", in each release: fugu-guarantee"
    )
    return defined(shown)
