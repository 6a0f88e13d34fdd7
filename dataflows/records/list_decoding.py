"""Read many records at once, or one by one where one of them is refused.

Every record that is not exactly what the pipeline file declares becomes a dead letter, and its
neighbours are unharmed. Records are read some at a time, column by column. Where one of those is
refused, they are read again one by one, and that decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import orjson

from fugu.dataflows.base.batches import Batch, DeadLetters, Decoded, Reason, RefusedRecords
from fugu.dataflows.base.errors import is_of_one_record
from fugu.dataflows.records.json_fields import Refused, user_key
from fugu.dataflows.records.record_reading import (
    LARGEST_KEY_BYTES,
    RecordReading,
    event_of,
    required_key,
)
from fugu.dataflows.records.values import Value

READ_TOGETHER = 256
"""Records that are read together: they stay in the cache, and a refused one delays few others."""


@dataclass
class _Read:
    """Hold what was read of the accepted records of a batch, and which ones are refused."""

    keys: list[bytes] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    events: list[int] = field(default_factory=list)
    refused: set[int] = field(default_factory=set)
    dead: DeadLetters = field(default_factory=DeadLetters)
    timed: RefusedRecords = field(default_factory=RefusedRecords)


def decode_lists(reading: RecordReading, batch: Batch) -> Decoded:
    """Split a batch into accepted columns and dead letters."""
    read, count = _Read(), len(batch.offsets)
    arrivals = _arrivals(batch.timestamps)
    suspicious = False
    for first in range(0, count, READ_TOGETHER):
        end = min(first + READ_TOGETHER, count)
        if suspicious or not _read_together(reading, batch, first, end, read):
            known = len(read.refused)
            _read_each(reading, batch, arrivals, first, end, read)
            suspicious = len(read.refused) > known
    return _decoded(reading, batch, arrivals, read)


def unreadable(reading: RecordReading, record: Batch, exception: str) -> Decoded:
    """Return a batch of one record as a dead letter, because of an exception of this class.

    Its presence counts if key and time can be read.
    """
    read, arrivals = _Read(refused={0}), _arrivals(record.timestamps)
    read.dead.add(int(record.offsets[0]), int(arrivals[0]), Reason.UNREADABLE, exception)
    try:
        _note_time(reading, record, arrivals, 0, read)
    except Exception as error:
        if not is_of_one_record(error):
            raise
    return _decoded(reading, record, arrivals, read)


def _decoded(reading: RecordReading, batch: Batch, arrivals: Sequence[int], read: _Read) -> Decoded:
    """Return what was read as columns."""
    offsets, count = batch.offsets, len(batch.offsets)
    if read.refused:
        kept = [index for index in range(count) if index not in read.refused]
        offsets = [offsets[i] for i in kept]
        arrivals = [arrivals[i] for i in kept]
    return Decoded(
        batch.partition,
        offsets,
        arrivals if reading.timestamp is None else read.times,
        read.keys,
        np.array(read.values, dtype=reading.domain.dtype),
        None if reading.event is None else read.events,
        read.dead,
        read.timed,
    )


def _read_together(reading: RecordReading, batch: Batch, first: int, end: int, read: _Read) -> bool:
    """Read some records, or none of them because one is to be refused."""
    keys = list(filter(None, batch.keys[first:end])) if reading.key is None else []
    contents = list(filter(None, batch.values[first:end]))
    if (reading.key is None and len(keys) < end - first) or len(contents) < end - first:
        return False
    if max(map(len, contents)) > reading.max_value_bytes:
        return False
    try:
        records = list(map(reading.loads, contents))
        if reading.shape.changes_nothing:
            if set(map(type, records)) != {dict}:
                return False
        else:
            some = zip(records, batch.headers[first:end], strict=True)
            records = [reading.shape.shaped(record, headers) for record, headers in some]
        if reading.key is not None:
            keys = [user_key(record, reading.key) for record in records]
        values = reading.domain.read_column(records)
        times = [] if reading.timestamp is None else reading.timestamp.read_column(records)
        events = [] if reading.event is None else [event_of(r, reading.event) for r in records]
    except (orjson.JSONDecodeError, Refused):
        return False
    if max(map(len, keys)) > LARGEST_KEY_BYTES:
        return False
    if reading.exact and any(
        reading.is_rounded(*one)
        for one in zip(contents, records, batch.headers[first:end], strict=True)
    ):
        return False
    read.keys += keys
    read.values += values
    read.times += times
    read.events += events
    return True


def _read_each(
    reading: RecordReading, batch: Batch, arrivals: Sequence[int], first: int, end: int, read: _Read
) -> None:
    """Read or refuse every record by itself."""
    for index in range(first, end):
        try:
            if reading.key is None:
                key = required_key(batch.keys[index])
                record = reading.parse(batch.values[index], batch.headers[index])
            else:
                record = reading.parse(batch.values[index], batch.headers[index])
                key = required_key(user_key(record, reading.key), reading.key)
            value = reading.domain.read(record)
            times = [] if reading.timestamp is None else [reading.timestamp.read(record)]
            events = [] if reading.event is None else [event_of(record, reading.event)]
        except Refused as refusal:
            read.refused.add(index)
            read.dead.add(batch.offsets[index], arrivals[index], refusal.reason, refusal.field)
            _note_time(reading, batch, arrivals, index, read)
            continue
        read.keys.append(key)
        read.values.append(value)
        read.times += times
        read.events += events


def _note_time(
    reading: RecordReading, batch: Batch, arrivals: Sequence[int], index: int, read: _Read
) -> None:
    """Note time and key of a refused record, if they can be read."""
    content, headers = batch.values[index], batch.headers[index]
    key = batch.keys[index] if reading.key is None else reading.key_of(content, headers)
    if not key or len(key) > LARGEST_KEY_BYTES:
        return
    time: int | None = arrivals[index]
    if reading.timestamp is not None:
        time = reading.time_of(content, headers, reading.timestamp)
    if time is not None:
        read.timed.offsets.append(batch.offsets[index])
        read.timed.timestamps.append(time)
        read.timed.keys.append(key)


def _arrivals(timestamps: Sequence[int]) -> Sequence[int]:
    """Return when records were written; a producer may say that it was before 1970."""
    if min(timestamps, default=0) >= 0:
        return timestamps
    return [max(one, 0) for one in timestamps]
