"""Draw a sample of a private topic, for trying operators offline."""

import os
from pathlib import Path
from typing import Annotated

import typer

from fugu.dataflows.base.errors import ConfigurationError, KafkaUnavailable
from fugu.dataflows.commands.arguments import PipelineArgument
from fugu.dataflows.commands.output import say
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.offline.evaluation.drawing import DrawnUsers, draw, written
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.pipeline.source_section import TimestampField


def sample(
    pipeline: PipelineArgument,
    to: Annotated[Path, typer.Option("--to", dir_okay=False, help="The file of the sample.")],
    users: Annotated[int, typer.Option(min=1, help="How many users to draw.")] = 1_000,
    records: Annotated[int, typer.Option(min=1, help="The first records of each user.")] = 1_000,
    seed: Annotated[int, typer.Option(help="Another seed draws other users.")] = 0,
    key_field: Annotated[str, typer.Option(help="The field for the key.")] = "key",
    time_field: Annotated[
        str | None, typer.Option(help="A field for the time of a record, in milliseconds.")
    ] = None,
) -> None:
    """Draw users from the private topic, for fugu evaluate. The file holds raw records."""
    source = pipeline.pipeline.source
    fields = [*pipeline.pipeline.operator.fields_read(source.fields)]
    if isinstance(source.timestamp, TimestampField):
        fields.append(source.timestamp.field)
    if source.dedupe is not None:
        fields.append(source.dedupe.field)
    if source.key is not None:
        fields.append(source.key.field)
    for option, name in (("--key-field", key_field), ("--time-field", time_field)):
        if name in fields:
            raise ConfigurationError(
                f"{option} {name}: records have a field of this name already; write another name"
            )
    client = client_of(pipeline.connection())
    topic = client.topic(source.topic)
    if topic is None:
        raise KafkaUnavailable(
            f"topic {source.topic} does not exist; create it, or correct source.topic"
        )
    drawn = DrawnUsers(users, records, seed)
    codec = configure(pipeline).codec
    draw(client, topic, drawn, codec)
    if source.envelope is not None:
        fields += source.envelope.marks
    lines = list(written(drawn.in_order(), fields, key_field, time_field, codec))
    descriptor = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.writelines(lines)
    say(
        f"{len(lines):,} records of {drawn.drawn:,} users of {source.topic} written to {to}. They "
        "are raw: keep the file in the trusted zone, and delete it when you have chosen"
    )
