"""Try a change of policies out, and send it."""

import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import orjson
import typer

from fugu.dataflows.base.batches import Header, Outgoing
from fugu.dataflows.base.errors import ConfigurationError, FuguError
from fugu.dataflows.commands.arguments import PipelineArgument
from fugu.dataflows.commands.output import Terminal
from fugu.dataflows.commands.policy_force import history_of
from fugu.dataflows.files.yaml_file import YamlFile
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.pipeline.policy_changes import signatures_of
from fugu.dataflows.pipeline.secrets import read_policy_secret
from fugu.dataflows.policies.changes import ChangeSection, UnusableChange
from fugu.dataflows.policies.course import in_unit, moment
from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.in_force import Told
from fugu.dataflows.policies.signatures import (
    owner_with,
    read_private_key,
    signed,
    signed_with_secret,
)
from fugu.operators.randomness import Secret
from fugu.operators.swellfish.attribution import attribution
from fugu.operators.swellfish.calendar import DAY
from fugu.operators.swellfish.decisions import Decision

_DAYS = 28


class ChangeFileSection(ChangeSection):
    """Hold a change as a file has it: the key of its record, and the value."""

    change: str


@dataclass(frozen=True)
class Signer:
    """Hold what signs a change: the private key of an owner, the secret of the pipeline, or
    nothing."""

    key: Path | None
    secret: Secret | None

    def headers(
        self, topic: str, document: PolicyDocument, key: bytes, value: bytes
    ) -> list[Header]:
        """Return the headers of a record."""
        if self.key is not None:
            private = read_private_key(self.key)
            return [signed(topic, key, value, private, owner_with(private, document))]
        return [] if self.secret is None else [signed_with_secret(topic, key, value, self.secret)]

    def __bool__(self) -> bool:
        return self.key is not None or self.secret is not None


def change_policies(
    pipeline: PipelineArgument,
    file: Annotated[
        Path, typer.Argument(metavar="CHANGE", help="One change of policies (YAML or JSON).")
    ],
    send: Annotated[
        bool, typer.Option("--send/--dry-run", help="Write it, or only say what it would do.")
    ] = False,
    key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Sign with the private key of an owner.")
    ] = None,
    by_hmac: Annotated[
        bool, typer.Option("--hmac", help="Sign with the secret of source.policies.hmac.")
    ] = False,
) -> None:
    """Say what a change of policies would do, from when, and what it costs; with --send write it.

    The file holds what the record would, and the key of the record as `change`:

        change: household/sauna
        effective: 2026-03-01T00:00:00+01:00
        policy: {id: sauna, calendar: ..., pattern: ..., theta: 6 kW}

    A change that the pipeline would refuse is refused here, and nothing is written. What is signed
    has the next `sequence` of its collection, if the file does not say another one.
    """
    source = pipeline.pipeline.source.policies
    if source is None:
        raise ConfigurationError(f"{pipeline.path}: source.policies names no topic; add it first")
    signer = Signer(key, read_policy_secret(pipeline) if by_hmac else None)
    if by_hmac and signer.secret is None:
        raise ConfigurationError(f"{pipeline.path}: source.policies.hmac names no secret; add it")
    history = history_of(pipeline)
    before, now = _after_all(history), history.following
    name, value = _record_of(file, before, history.document, numbered=bool(signer))
    headers = signer.headers(source.topic, history.document, name, value)
    signatures = signatures_of(pipeline) if by_hmac else history.signatures
    assert signatures is not None
    try:
        asked = signatures.read(name, value, headers, _now()).to_bytes()
        said = history.document.policies.explained(before, asked, now, history.document.zone)
        after = history.document.policies.changed(before, asked, now)
    except (UnusableChange, ValueError) as error:
        raise ConfigurationError(f"{file}: the pipeline would refuse it: {error}") from None
    console = Terminal()
    console.print(said, highlight=False, soft_wrap=True)
    decision = history.document.policies.decision(before, asked, now)
    _print_cost(console, history.document, (before, after), decision, now)
    if send:
        offset = _sent(client_of(pipeline.connection()), source.topic, name, value, headers)
        console.print(f"Written to topic {source.topic}, offset {offset}.", highlight=False)
    else:
        console.print(f"Nothing is written; --send writes it to topic {source.topic}.")


def _record_of(
    path: Path, changes: bytes, document: PolicyDocument, *, numbered: bool
) -> tuple[bytes, bytes]:
    """Return key and value of the record that a file describes; errors name the line."""
    file = YamlFile.read(path, "change of policies", "change: household/sauna")
    name = file.content(ChangeFileSection).change
    value = {field: part for field, part in file.plain.items() if field != "change"}
    if numbered and "sequence" not in value:
        standing = document.policies.standings(changes).get(name.partition("/")[0])
        value["sequence"] = 1 if standing is None else standing.sequence + 1
    return name.encode(), orjson.dumps(value)


def _sent(client: Client, topic: str, key: bytes, value: bytes, headers: list[Header]) -> int:
    """Write a record to the topic of changes, and return its offset."""
    with closing(client.writer()) as writer:
        writer.write(topic, Outgoing(0, [key], [value], [headers], [_now()]))
        writer.flush()
        end = writer.acknowledged_end(topic, 0)
    if end is None:
        raise FuguError(f"topic {topic}: the broker did not say where the change was written")
    return end - 1


def _after_all(history: Told) -> bytes:
    """Return the changes that the next figure knows: those that wait, too."""
    timeline, now = history.document.policies, history.following
    known = history.known_at(now)
    changes = b"" if known is None else known.changes
    for waiting in history.changes[0 if known is None else known.told :]:
        assert waiting.change is not None
        changes = timeline.told(changes, waiting.change.to_bytes(), now)
    return changes


def _print_cost(
    console: Terminal,
    document: PolicyDocument,
    changes: tuple[bytes, bytes],
    decision: Decision,
    now: int,
) -> None:
    """Print the expected noise before and after a change, over some weeks from when it counts."""
    start = max(now, decision.first[0] if decision.first else decision.effective)
    end = start + _DAYS * DAY * 1000 // document.policies.tick_milliseconds - 1
    epsilon = document.section.epsilon
    found = [attribution(document.policies, start, end, epsilon, one) for one in changes]
    query = document.section.query
    means = [in_unit(round(one.mean), query) for one in found]
    most = [in_unit(round(one.most), query) for one in found]
    console.print(
        f"Expected noise of a figure, {_DAYS} days from {moment(start, document)} on: mean "
        f"{means[0]} without the change and {means[1]} with it; at most {most[0]} and {most[1]}.",
        highlight=False,
        soft_wrap=True,
    )


def _now() -> int:
    """Return the time of the clock, in milliseconds since 1970."""
    return int(time.time() * 1000)
