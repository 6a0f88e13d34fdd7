"""Try a change of policies out, and send it."""

import time
from contextlib import closing
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.console import Console

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.base.errors import ConfigurationError, FuguError
from fugu.dataflows.commands.arguments import PipelineArgument
from fugu.dataflows.commands.policy_force import history_of
from fugu.dataflows.files.yaml_file import YamlFile
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.policies.change import ChangeSection, UnusableChange, change
from fugu.dataflows.policies.told import Told
from fugu.operators.swellfish.change import AnyChange


class ChangeFileSection(ChangeSection):
    """Hold a change as a file has it: the key of its record, and the value."""

    change: str


def change_policies(
    pipeline: PipelineArgument,
    file: Annotated[
        Path, typer.Argument(metavar="CHANGE", help="One change of policies (YAML or JSON).")
    ],
    send: Annotated[
        bool, typer.Option("--send/--dry-run", help="Write it, or only say what it would do.")
    ] = False,
) -> None:
    """Say what a change of policies would do, from when, and what it costs; with --send write it.

    The file holds what the record would, and the key of the record as `change`:

        change: household/sauna
        effective: 2026-03-01T00:00:00+01:00
        policy: {id: sauna, calendar: ..., pattern: ..., theta: 6 kW}

    A change that the pipeline would refuse is refused here, and nothing is written.
    """
    key, value = record_of(file)
    history = history_of(pipeline)
    asked = _change(key, value, history, file)
    _explain(Console(), asked, history, file)
    source = pipeline.pipeline.source.policies
    if not send:
        return
    if source is None:
        raise ConfigurationError(f"{pipeline.path}: source.policies names no topic; add it first")
    offset = sent(client_of(pipeline.connection()), source.topic, key, value)
    Console().print(f"Written to topic {source.topic}, offset {offset}.", highlight=False)


def record_of(path: Path) -> tuple[bytes, bytes]:
    """Return key and value of the record that a file describes; errors name the line."""
    file = YamlFile.read(path, "change of policies", "change: household/sauna")
    section = file.content(ChangeFileSection)
    value = {name: part for name, part in file.plain.items() if name != "change"}
    return section.change.encode(), orjson.dumps(value)


def sent(client: Client, topic: str, key: bytes, value: bytes) -> int:
    """Write a record to the topic of changes, and return its offset."""
    with closing(client.writer()) as writer:
        writer.write(topic, Outgoing(0, [key], [value], [[]], [int(time.time() * 1000)]))
        writer.flush()
        end = writer.acknowledged_end(topic, 0)
    if end is None:
        raise FuguError(f"topic {topic}: the broker did not say where the change was written")
    return end - 1


def _change(key: bytes, value: bytes, history: Told, file: Path) -> AnyChange:
    try:
        return change(key, value, history.document)
    except UnusableChange as error:
        raise ConfigurationError(f"{file}: {error}") from None


def _explain(console: Console, asked: AnyChange, history: Told, file: Path) -> None:
    """Print what the pipeline would decide with the next figure, after all that waits already."""
    timeline, now = history.document.policies, _next_tick(history)
    known = history.known_at(now)
    changes = b"" if known is None else known.changes
    for waiting in history.changes[0 if known is None else known.told :]:
        assert waiting.change is not None
        try:
            changes = timeline.changed(changes, waiting.change.to_bytes(), now)
        except ValueError:
            continue
    try:
        said = timeline.explained(changes, asked.to_bytes(), now)
    except ValueError as error:
        raise ConfigurationError(f"{file}: the pipeline would refuse it: {error}") from None
    console.print(said, highlight=False, soft_wrap=True)


def _next_tick(history: Told) -> int:
    """Return the tick after the last figure; before the first one, that of the clock."""
    if history.following is not None:
        return history.following
    return int(time.time() * 1000) // history.document.policies.tick_milliseconds
