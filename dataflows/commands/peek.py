"""`fugu peek`: the newest records of a pipeline's sanitized topic or of its dead letters."""

from datetime import UTC, datetime

import orjson
from rich.console import Console
from rich.table import Table

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.records.published import GUARANTEE_HEADER, RELEASE_HEADER

Record = dict[str, object]


def peek(file: PipelineFile, records: int, dead_letters: bool, as_json: bool) -> None:
    """Print up to `records` of the newest records, oldest first."""
    sink = file.pipeline.sink
    topic = sink.dead_letter_topic if dead_letters else sink.topic
    newest = newest_records(client_of(file.connection()), topic, records)
    if as_json:
        for record in newest:
            print(orjson.dumps(record).decode())
        return
    table = Table(title=f"{topic}: the newest {len(newest)} records")
    for column in ("time (UTC)", "partition", "offset", "key", "value", "release"):
        table.add_column(column, overflow="fold")
    for record in newest:
        moment = datetime.fromtimestamp(int(str(record["timestamp"])) / 1000, UTC)
        table.add_row(
            f"{moment:%Y-%m-%d %H:%M:%S}",
            str(record["partition"]),
            str(record["offset"]),
            str(record["key"] or ""),
            orjson.dumps(record["value"]).decode(),
            str(record["release"]),
        )
    Console().print(table)


def newest_records(client: Client, name: str, records: int) -> list[Record]:
    """The newest records of a topic over all its partitions, oldest first."""
    topic = client.topic(name)
    if topic is None:
        raise KafkaUnavailable(f"topic {name} does not exist. Has the pipeline run yet?")
    reader = client.reader(name)
    found: list[Record] = []
    try:
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
    finally:
        reader.close()
    found.sort(key=lambda record: (record["timestamp"], record["partition"], record["offset"]))
    return found[-records:]


def _value(value: bytes | None) -> object:
    try:
        return orjson.loads(value or b"null")
    except orjson.JSONDecodeError:
        return (value or b"").decode(errors="replace")
