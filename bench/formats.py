"""Measure a whole pipeline whose records are Avro or Protocol Buffers, beside one of JSON.

`python -m bench.formats`, some minutes, with Kafka. Formats take turns; what is compared is the
records/s of one round.
"""

import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import orjson
from rich.console import Console
from rich.table import Table

from bench.comparison.contestants import FUGU, Place
from bench.comparison.data import ALPHABET, Writing, stream_of, write_model
from bench.comparison.measuring import Speed, Watched, speed
from bench.comparison.topics import Topics
from bench.decoding import (
    AVRO_OF_STREAM,
    PROTOBUF_OF_STREAM,
    Write,
    avro_writer,
    protobuf_writer,
)
from bench.stream import key_of
from tests.dataflows.kafka.played_registry import played_registry
from tests.kafka.broker import Broker

RECORDS, ROUNDS, USERS, PARTITIONS = 1_500_000, 3, 10_000, 4
_WARM_UP, _SECONDS = 1.5, 3.0
_KINDS = {"avro": "AVRO", "protobuf": "PROTOBUF"}


def measure_formats(
    topics: Topics, folder: Path, say: Callable[[str], None]
) -> dict[str, list[Speed]]:
    """Return what each round of each format came to."""
    found: dict[str, list[Speed]] = {name: [] for name in ("json", *_KINDS)}
    writers: dict[str, Write] = {
        "json": orjson.dumps,
        "avro": avro_writer(AVRO_OF_STREAM),
        "protobuf": protobuf_writer(PROTOBUF_OF_STREAM),
    }
    with played_registry() as registry:
        registry.add(1, AVRO_OF_STREAM)
        registry.add(2, PROTOBUF_OF_STREAM, "PROTOBUF")
        sources = {}
        for name, write in writers.items():
            say(f"producing {RECORDS:,} records of {name}")
            sources[name] = topics.make(f"source-{name}", PARTITIONS)
            with Writing(topics.bootstrap) as writing:
                for user, value in islice(stream_of(USERS, PARTITIONS).records(), RECORDS):
                    content = write(orjson.loads(value))
                    writing.send(sources[name], user % PARTITIONS, key_of(user), content)
        for number in range(ROUNDS):
            for name, source in sources.items():
                say(f"round {number + 1} of {ROUNDS}: {name}")
                section = {"kind": name, "registry": {"url": registry.url}}
                more: Mapping[str, object] = {} if name == "json" else {"format": section}
                found[name].append(_speed(topics, folder, source, more))
    return found


def _speed(topics: Topics, folder: Path, source: str, more: Mapping[str, object]) -> Speed:
    with ExitStack() as stack:
        sink = stack.enter_context(topics.sink(PARTITIONS))
        published = stack.enter_context(topics.counted(sink, PARTITIONS))
        own = Path(stack.enter_context(TemporaryDirectory(prefix="formats-", dir=folder)))
        place = Place(topics.bootstrap, source, sink, write_model(own, ALPHABET), own)
        command = replace(FUGU, source=more).command(Path(sys.executable), place)
        watched = stack.enter_context(Watched(command, {"TMPDIR": str(own)}, own / "log"))
        result = speed(
            watched, published, warm_up=_WARM_UP, seconds=_SECONDS, source_records=RECORDS
        )
        watched.stop()
    return result


def main() -> None:
    """Print a table."""
    with (
        Console().status("starting Kafka") as status,
        TemporaryDirectory(prefix="fugu-bench-") as folder,
        Broker(light=False) as broker,
    ):
        found = measure_formats(Topics(broker.bootstrap), Path(folder), status.update)
    table = Table("format", "records/s", "of JSON", "CPU µs a record")
    baseline = found["json"]
    for name, rounds in found.items():
        rate = median(one.records_per_second for one in rounds)
        pairs = zip(rounds, baseline, strict=True)
        ratio = median(own.records_per_second / one.records_per_second for own, one in pairs)
        cost = median(one.cpu_seconds_per_million for one in rounds)
        table.add_row(name, f"{rate:,.0f}", f"{ratio:.2f}", f"{cost:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
