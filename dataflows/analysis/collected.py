"""Collect the records of a sanitized topic as columns of Arrow, without an object for each."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any

import numpy as np
import pyarrow as pa

from fugu.dataflows.base.batches import Batch, Header
from fugu.dataflows.base.columns import HeaderColumns
from fugu.dataflows.base.errors import CannotBeEstimated
from fugu.dataflows.kafka.client import Bounds, Client, Topic
from fugu.dataflows.records.published import GUARANTEE_HEADER, RELEASE_HEADER
from fugu.operators.columns import ByteColumn

COLLECTED = pa.schema(
    [
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("time", pa.timestamp("ms", tz="UTC")),
        ("user", pa.binary()),
        ("content", pa.binary()),
        ("release", pa.binary()),
        ("promise", pa.binary()),
    ]
)
"""Hold what is known of a record before its value is read."""


def collected_range(
    client: Client, topic: Topic, bounds: dict[int, Bounds]
) -> Iterator[pa.RecordBatch]:
    """Yield the records of these ranges, partition by partition."""
    with closing(client.reader(topic.name, headers=True)) as reader:
        for partition, bound in sorted(bounds.items()):
            for batch in reader.read_range(partition, bound.start, bound.end):
                if len(batch.offsets):
                    yield collected_batch(batch)


def collected_batch(batch: Batch) -> pa.RecordBatch:
    """Return the columns of a batch."""
    columns = [
        pa.array(np.full(len(batch.offsets), batch.partition, dtype=np.int32)),
        pa.array(np.asarray(batch.offsets, dtype=np.int64)),
        _times(np.asarray(batch.timestamps, dtype=np.int64)),
        binary(batch.keys),
        binary(batch.values),
        _header(batch.headers, RELEASE_HEADER),
        _header(batch.headers, GUARANTEE_HEADER),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=COLLECTED)


def collected_records(records: Iterable[Any]) -> Iterator[pa.RecordBatch]:
    """Yield records of a consumer that somebody else runs, some thousands at a time.

    A record has `key`, `value` and `headers`, and `timestamp`, `partition` and `offset`: as values,
    as those of kafka-python do, or as methods, as those of confluent-kafka do.
    """
    chunk: list[Any] = []
    for number, record in enumerate(records):
        chunk.append((number, record))
        if len(chunk) == _AT_ONCE:
            yield _of_records(chunk)
            chunk = []
    if chunk:
        yield _of_records(chunk)


_AT_ONCE = 10_000


def _of_records(chunk: Sequence[tuple[int, Any]]) -> pa.RecordBatch:
    named = [dict(_field(record, "headers") or ()) for _, record in chunk]
    times = [_field(record, "timestamp") for _, record in chunk]
    columns = [
        pa.array([_field(record, "partition", 0) for _, record in chunk], pa.int32()),
        pa.array([_field(record, "offset", number) for number, record in chunk], pa.int64()),
        _times(np.array([one[1] if isinstance(one, tuple) else one for one in times])),
        pa.array([_field(record, "key") for _, record in chunk], pa.binary()),
        pa.array([_field(record, "value") for _, record in chunk], pa.binary()),
        pa.array([one.get(RELEASE_HEADER) for one in named], pa.binary()),
        pa.array([one.get(GUARANTEE_HEADER) for one in named], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=COLLECTED)


def _field(record: Any, name: str, default: Any = None) -> Any:
    found = getattr(record, name, default)
    return found() if isinstance(found, Callable) else found  # type: ignore[arg-type]


def _times(milliseconds: Any) -> pa.Array:
    return pa.array(milliseconds.astype("datetime64[ms]"), COLLECTED.field("time").type)


def _header(headers: Sequence[list[Header]], name: str) -> pa.Array:
    if isinstance(headers, HeaderColumns):
        found = headers.contents.get(name)
        if isinstance(found, bytes):
            return binary(ByteColumn.repeated(found, len(headers)))
        return pa.nulls(len(headers), pa.binary()) if found is None else binary(found)
    return binary([dict(own).get(name) for own in headers])


def binary(strings: Sequence[bytes | None]) -> pa.Array:
    """Return strings as a column of Arrow; the bytes of a column are copied once."""
    present = getattr(strings, "present", strings)
    if not isinstance(present, ByteColumn):
        return pa.array(list(strings), pa.binary())
    ends = np.concatenate([[0], np.cumsum(present.lengths)])
    if ends[-1] > np.iinfo(np.int32).max:
        raise CannotBeEstimated("a batch holds more than 2 GiB of values; read it in parts")
    buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(present.joined())]
    return pa.Array.from_buffers(pa.binary(), len(present), buffers)
