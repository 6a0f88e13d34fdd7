"""Show what pipelines promise about a source, and the streams nearest to exhaustion."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.arguments import AsJson, PipelineArgument
from fugu.dataflows.commands.explain_together import (
    print_joint,
    print_sums,
    together_documents,
)
from fugu.dataflows.commands.output import Terminal, folding_table, print_json
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.pipeline.guarantee_data import guarantee_data
from fugu.dataflows.pipeline.guarantee_text import in_words
from fugu.dataflows.pipeline.joint import declared_joints, missing
from fugu.dataflows.publishing.ledger_topic import (
    PipelineEntry,
    StreamEntry,
    find_ledger,
    read_ledger,
)
from fugu.dataflows.publishing.registration import promises_by_source, told_by


def ledger(
    pipeline: PipelineArgument,
    streams: Annotated[
        int, typer.Option("--streams", "-n", min=0, help="How many streams to show.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """Show what pipelines promise about a source, and the streams nearest to exhaustion."""
    client = client_of(pipeline.connection(), pipeline.pipeline.source.generation)
    topic = find_ledger(client, pipeline.pipeline)
    if topic is None:
        raise ConfigurationError(
            "the pipeline file names no ledger; write ledger: {topic: NAME, create: true}"
        )
    content = read_ledger(client, topic)
    pipelines = sorted(content.pipelines, key=lambda entry: (entry.source, entry.pipeline))
    sources = promises_by_source(pipelines)
    told = {entry.pipeline: told_by(entry) for entry in pipelines}
    nearest = sorted(content.streams, key=_distance)
    if as_json:
        document = {
            "topic": topic.name,
            "pipelines": [_document(entry) for entry in pipelines],
            "sums": together_documents(sources),
            "joint": [one.document() for one in declared_joints(told)],
            "unreadable": [asdict(entry) for entry in content.unreadable],
            "streams": [asdict(entry) for entry in nearest],
        }
        print_json(document)
        return
    console = Terminal()
    console.print(_pipelines(topic.name, pipelines))
    print_sums(console, sources)
    for one in declared_joints(told):
        print_joint(console, one)
    for name, other in missing(told):
        console.print(
            f"{escape(name)} is beside {escape(other)} (ledger.beside), which is not in this "
            "ledger: what both tell together is not counted."
        )
    for unreadable in content.unreadable:
        console.print(
            f"{escape(unreadable.why)} It is about {escape(unreadable.source or 'a source')}, and "
            "in no sum."
        )
    console.print(_streams(nearest, streams))


def _document(entry: PipelineEntry) -> dict[str, object]:
    promises = [
        {**guarantee_data(one), "total_delta": one.total_delta, "in_words": in_words(one)}
        for one in entry.guarantees
    ]
    return {**asdict(entry), "guarantees": promises}


def _distance(entry: StreamEntry) -> tuple[bool, int, str, str]:
    return (not entry.exhausted, -entry.tenths, entry.pipeline, entry.stream)


def _pipelines(topic: str, entries: list[PipelineEntry]) -> Table:
    look = {"title": f"{topic}: what pipelines promise", "title_justify": "left"}
    table = folding_table("source", "pipeline", "promise", show_lines=True, **look)
    for entry in entries:
        promises = "\n".join(in_words(guarantee) for guarantee in entry.guarantees)
        table.add_row(*map(escape, (entry.source, entry.pipeline, promises)))
    return table


def _streams(nearest: list[StreamEntry], limit: int) -> Table:
    shown = nearest[:limit]
    title = f"streams by what is left of their budget: {len(shown):,} of {len(nearest):,}"
    columns = ("pipeline", "stream", "spent at least")
    table = folding_table(*columns, title=title, title_justify="left")
    for entry in shown:
        table.add_row(escape(entry.pipeline), escape(entry.stream), _spent(entry))
    return table


def _spent(entry: StreamEntry) -> str:
    return "exhausted" if entry.exhausted else f"{entry.tenths * 10} %"
