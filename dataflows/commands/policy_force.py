"""Show which policies are in force, now or at a time."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.arguments import AsJson, PipelineArgument
from fugu.dataflows.commands.output import Terminal, folding_table, print_json
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.kinds import PolicyOperator
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.policies.course import in_unit, moment
from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.in_force import (
    InForce,
    Moved,
    Told,
    WrittenChange,
    in_force,
    moved,
    told,
)
from fugu.dataflows.policies.signatures import Signatures
from fugu.operators.swellfish.policy import Span

_FORMATS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M"]


@dataclass(frozen=True)
class Found:
    """Hold what is in force at a tick, and the changes that no figure knew by then."""

    tick: int
    policies: list[InForce]
    moved: list[Moved]
    waiting: list[WrittenChange]


def force(
    pipeline: PipelineArgument,
    at: Annotated[
        datetime | None,
        typer.Option(
            formats=_FORMATS,
            metavar="TIME",
            help="By the clock of the grid's zone; else the tick after the last figure, or now if "
            "there is none.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show which policies are in force, now or at a time.

    Reads the document, the topic of changes, and from the digests of the sanitized topic what its
    figures knew. A change that no figure knows yet is listed: it counts when the next one is made.
    """
    document = document_of(pipeline)
    history = history_of(pipeline)
    found = _found(history, _tick(at, document))
    if as_json:
        print_json(_data(pipeline, found, document))
    else:
        _print(Terminal(), found, history)


def document_of(file: PipelineFile) -> PolicyDocument:
    """Return the policy document of a pipeline file; `ConfigurationError` if it has none."""
    operator = file.pipeline.operator
    if not isinstance(operator, PolicyOperator):
        raise ConfigurationError(
            f"{file.path}: {operator.kind} goes by no policies; name a pipeline of a kind that "
            "fugu kinds lists with them, such as unicorn"
        )
    return operator.policies


def history_of(file: PipelineFile) -> Told:
    """Read what was written to the topic of changes, and what figures knew of it."""
    client, pipeline, document = client_of(file.connection()), file.pipeline, document_of(file)
    source = pipeline.source.policies
    changes = None
    if source is not None:
        changes = Signatures(document, source.topic, source.signed == "required")
    return told(client, document, changes, pipeline.sink.topic)


def _tick(at: datetime | None, document: PolicyDocument) -> int | None:
    if at is None:
        return None
    milliseconds = int(at.replace(tzinfo=document.zone).timestamp()) * 1000
    return milliseconds // document.policies.tick_milliseconds


def _found(history: Told, at: int | None) -> Found:
    tick = history.following if at is None else at
    known = history.known_at(tick)
    changes, applied = (b"", 0) if known is None else (known.changes, known.told)
    policies = list(in_force(history.document, changes, tick))
    moves = moved(history.document, changes)
    return Found(tick, policies, moves, history.changes[applied:])


def _data(file: PipelineFile, found: Found, document: PolicyDocument) -> dict[str, object]:
    query = document.section.query

    def span(one: Span | None) -> object:
        return None if one is None else [document.begin(one[0]), document.begin(one[1] + 1)]

    return {
        "pipeline": file.pipeline.name,
        "tick": found.tick,
        "time": document.begin(found.tick),
        "policies": [
            {
                "policy": one.name,
                "theta": in_unit(max(one.policy.thresholds), query),
                "since": moment(one.since, document),
                "until": moment(one.until, document),
                "open": span(one.now),
                "next": span(one.following),
            }
            for one in found.policies
        ],
        "moved_keys": [
            {"key": one.key, "to": one.collection, "since": moment(one.since, document)}
            for one in found.moved
        ],
        "known_by_no_figure": [
            {"offset": one.offset, "policy": _name(one)} for one in found.waiting
        ],
    }


def _print(console: Terminal, found: Found, history: Told) -> None:
    document = history.document
    when = document.begin(found.tick)
    console.print(
        f"\nIn force on [bold]{when:%Y-%m-%d %H:%M}[/bold], by the clock of "
        f"{document.section.grid.zone} (tick {found.tick}):\n",
        highlight=False,
    )
    columns = ("policy", "hides", "counts from", "until", "open now", "next interval")
    table = folding_table(*columns, box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for one in found.policies:
        table.add_row(
            one.name,
            in_unit(max(one.policy.thresholds), document.section.query),
            moment(one.since, document) or "the document",
            moment(one.until, document) or "",
            "" if one.now is None else f"to {moment(one.now[1] + 1, document)}",
            "" if one.following is None else str(moment(one.following[0], document)),
        )
    console.print(table)
    for move in found.moved:
        console.print(
            f"key {move.key}: collection {move.collection} from {moment(move.since, document)} on",
            highlight=False,
            markup=False,
        )
    for waiting in found.waiting:
        console.print(
            f"offset {waiting.offset}, {_name(waiting)}: no figure knows of it yet; it counts from "
            "the next one on",
            highlight=False,
        )
    for written in history.written:
        if written.change is None:
            console.print(
                f"offset {written.offset} is no change: {written.refused}",
                soft_wrap=True,
                highlight=False,
                markup=False,
            )


def _name(one: WrittenChange) -> str:
    assert one.change is not None
    return one.change.key
