"""Read back what a pipeline over symbols has published to its sanitized topic."""

from array import array
from collections.abc import Iterator, Mapping
from contextlib import closing

import orjson

from fugu.dataflows.base.batches import Header
from fugu.dataflows.base.errors import FuguError, KafkaUnavailable
from fugu.dataflows.commands.output import Terminal, progress
from fugu.dataflows.kafka.client import Bounds, Client
from fugu.dataflows.kinds import AlphabetOperator
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.guarantee_data import guarantee_id
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.json_fields import Refused
from fugu.dataflows.records.published import GUARANTEE_HEADER, RELEASE_HEADER
from fugu.operators.mechanism import Mechanism

Streams = dict[bytes, "array[int]"]
"""Indices of released symbols, oldest first, by the key under which they were published."""


def published_symbols(
    console: Terminal,
    client: Client,
    file: PipelineFile,
    mechanism: Mechanism,
    between: Mapping[int, Bounds] | None = None,
) -> Iterator[tuple[int, Streams]]:
    """Partition by partition, every symbol that was drawn; repeated releases say nothing new.

    All must have been released under the promise of the file. A release that is there twice, as two
    owners at once would leave it, counts once. `between` says where in the topic to look;
    everywhere, without it.
    """
    operator, name = file.pipeline.operator, file.pipeline.sink.topic
    assert isinstance(operator, AlphabetOperator)
    domain = Alphabet(file.pipeline.source.field, operator.alphabet)
    promise = guarantee_id(mechanism.guarantees())
    topic = client.topic(name)
    if topic is None:
        raise KafkaUnavailable(
            f"topic {name} (sink.topic of {file.path}) does not exist. Has the pipeline run yet?"
        )
    with closing(client.reader(name)) as reader:
        bounds = between or reader.bounds(list(range(topic.partitions)))
        total = sum(bound.end - bound.start for bound in bounds.values())
        with progress(console, f"reading {name}", total) as advance:
            for partition, bound in sorted(bounds.items()):
                streams: Streams = {}
                seen: set[bytes] = set()
                for batch in reader.read_range(partition, bound.start, bound.end):
                    for offset, _, key, value, headers in batch.records():
                        place = f"topic {name}, partition {partition}, offset {offset}"
                        release = _release_of(headers, promise, place, file)
                        symbol = _fresh(value, domain, place)
                        if key is None:
                            raise FuguError(f"{place}: has no key; sink.key must not be none")
                        if symbol is not None and release not in seen:
                            streams.setdefault(key, array("I")).append(symbol)
                        seen.add(release)
                    advance(len(batch.offsets))
                yield partition, streams


def _release_of(headers: list[Header], promise: bytes, place: str, file: PipelineFile) -> bytes:
    named = dict(headers)
    if named.get(GUARANTEE_HEADER) != promise or RELEASE_HEADER not in named:
        raise FuguError(
            f"{place}: was not released under the promise of {file.path}. Give the file that it "
            "was released with."
        )
    return named[RELEASE_HEADER]


def _fresh(value: bytes | None, domain: Alphabet, place: str) -> int | None:
    try:
        release = orjson.loads(value or b"")
        return None if release.get("repeated", False) else domain.read_release(release)
    except (orjson.JSONDecodeError, AttributeError, Refused):
        raise FuguError(f"{place}: holds no symbol of operator.alphabet") from None
