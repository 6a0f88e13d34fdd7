"""Show the newest records of a pipeline's sanitized topic or of its dead letters."""

from contextlib import closing
from datetime import UTC, datetime
from typing import Annotated

import orjson
import typer
from rich.text import Text

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.commands.arguments import AsJson, PipelineArgument
from fugu.dataflows.commands.output import Terminal, folding_table, print_json_line
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.records.published import GUARANTEE_HEADER, RELEASE_HEADER

Record = dict[str, object]


def peek(
    pipeline: PipelineArgument,
    records: Annotated[int, typer.Option("--records", "-n", min=1, help="How many.")] = 10,
    dead_letters: Annotated[
        bool, typer.Option("--dead-letters", help="Look at refused records instead.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the newest records of the sanitized topic."""
    sink = pipeline.pipeline.sink
    topic = sink.dead_letter_topic if dead_letters else sink.topic
    newest = newest_records(client_of(pipeline.connection()), topic, records)
    if as_json:
        for record in newest:
            print_json_line(record)
        return
    columns = ("time (UTC)", "partition", "offset", "key", "value", "release")
    table = folding_table(*columns, title=f"{topic}: the newest {len(newest)} records")
    for record in newest:
        moment = datetime.fromtimestamp(int(str(record["timestamp"])) / 1000, UTC)
        table.add_row(
            f"{moment:%Y-%m-%d %H:%M:%S}",
            str(record["partition"]),
            str(record["offset"]),
            Text(str(record["key"] or "")),
            Text(orjson.dumps(record["value"]).decode()),
            Text(str(record["release"])),
        )
    Terminal().print(table)


def newest_records(client: Client, name: str, records: int) -> list[Record]:
    """Return the newest records of a topic over all its partitions, oldest first."""
    topic = client.topic(name)
    if topic is None:
        raise KafkaUnavailable(f"topic {name} does not exist. Has the pipeline run yet?")
    found: list[Record] = []
    with closing(client.reader(name)) as reader:
        for partition, bounds in reader.bounds(list(range(topic.partitions))).items():
            start = max(bounds.start, bounds.end - records)
            for batch in reader.read_range(partition, start, bounds.end):
                for offset, timestamp, key, value, headers in batch.records():
                    named = dict(headers)
                    found.append(
                        {
                            "partition": partition,
                            "offset": offset,
                            "timestamp": timestamp,
                            "key": None if key is None else key.decode(errors="replace"),
                            "value": _value(value),
                            "release": named.get(RELEASE_HEADER, b"").decode(errors="replace"),
                            "guarantee": named.get(GUARANTEE_HEADER, b"").decode(errors="replace"),
                        }
                    )
    found.sort(key=lambda record: (record["timestamp"], record["partition"], record["offset"]))
    return found[-records:]


def _value(value: bytes | None) -> object:
    try:
        return orjson.loads(value or b"null")
    except orjson.JSONDecodeError:
        return (value or b"").decode(errors="replace")
