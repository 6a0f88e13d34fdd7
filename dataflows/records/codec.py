"""Read and write whole batches of records: only the fields that the pipeline file names."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.base.batches import Batch, DeadLetters, Decoded, Header, Reason, Unread
from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.base.errors import is_of_one_record
from fugu.dataflows.records.isolation import isolated
from fugu.dataflows.records.list_decoding import decode_lists, unreadable
from fugu.dataflows.records.published import without_foreign
from fugu.dataflows.records.record_reading import LARGEST_KEY_BYTES, RecordReading
from fugu.dataflows.records.values import Domain
from fugu.operators import compiled
from fugu.operators.columns import column_of
from fugu.operators.mechanism import Releases

if TYPE_CHECKING:
    from fugu.dataflows.records.scanner import Scanner


def without_times_ahead(batch: Batch, decoded: Decoded, most: int, field: str) -> Decoded:
    """Return the records of a batch whose times are at most so many milliseconds after Kafka's.

    Nothing else decides: neither other records, nor any clock of this machine. Where the broker
    writes that time (LogAppendTime), or limits it (`message.timestamp.after.max.ms`), no clock of a
    producer gets further ahead of the broker's clock. Where a producer writes both times by one
    clock, both are wrong together, and nothing is refused.

    Others are dead letters that name the `field`. They count as records whose time cannot be read.
    """
    refused = decoded.refused
    if refused.offsets:
        late = _ahead(batch, refused.offsets, refused.timestamps, most).tolist()
        kept = [place for place, ahead in enumerate(late) if not ahead]
        refused = refused.at(kept)
    ahead = _ahead(batch, decoded.offsets, decoded.timestamps, most)
    if not ahead.any():
        return replace(decoded, refused=refused)
    dead = DeadLetters()
    offsets = column_of(decoded.offsets)[ahead]
    written = column_of(batch.timestamps)[np.searchsorted(column_of(batch.offsets), offsets)]
    for offset, arrival in zip(offsets.tolist(), np.maximum(written, 0).tolist(), strict=True):
        dead.add(offset, arrival, Reason.TOO_FAR_AHEAD, field)
    dead.extend(decoded.dead)
    accepted = decoded.at(np.flatnonzero(~ahead))
    return replace(accepted, dead=dead.in_order(), refused=refused)


def _ahead(
    batch: Batch, offsets: Sequence[int], times: Sequence[int], most: int
) -> NDArray[np.bool_]:
    """Say of each of some records of a batch whether its time is too far ahead of Kafka's.

    A record without a time in Kafka (below 0) is ahead of it, whatever its own time is.
    """
    written = column_of(batch.timestamps)
    if len(offsets) < len(written):
        written = written[np.searchsorted(column_of(batch.offsets), column_of(offsets))]
    return (column_of(times) - most > written) | (written < 0)


WORTH_SCANNING = 10
"""Smaller batches are read no faster by compiled code."""


@dataclass(frozen=True)
class Codec(RecordReading):
    """Read batches of the records of one pipeline, and write its releases.

    A time may be `max_ahead` milliseconds after that of its record in Kafka. Where records are
    `forwarded`, the keys of Kafka tell where they come from. Lines of the log name the `topic`.
    """

    max_ahead: int | None = None
    forwarded: bool = False
    topic: str = ""

    def decode(self, batch: Batch) -> Decoded:
        """Split a batch into accepted columns and dead letters.

        No record keeps others from being read, whatever exception it raises.
        """
        if isinstance(batch, Unread):
            return self._unread(batch)
        return isolated(self.topic, batch, self._decode, self._unreadable)

    def _decode(self, batch: Batch) -> Decoded:
        return self._in_time(batch, self._read(batch))

    def _unreadable(self, record: Batch, exception: str) -> Decoded:
        decoded = unreadable(self, record, exception)
        try:
            return self._in_time(record, decoded)
        except Exception as error:
            if not is_of_one_record(error):
                raise
            return decoded

    def _in_time(self, batch: Batch, decoded: Decoded) -> Decoded:
        """Refuse what others wrote by user, and what is too far ahead of Kafka's time."""
        if self.forwarded:
            decoded = without_foreign(batch, decoded)
        if self.timestamp is None or self.max_ahead is None:
            return decoded
        return without_times_ahead(batch, decoded, self.max_ahead, self.timestamp.field)

    def _read(self, batch: Batch) -> Decoded:
        columns, count = isinstance(batch.values, OptionalByteColumn), len(batch.offsets)
        if columns and count >= WORTH_SCANNING and self.scanner is not None:
            from fugu.dataflows.records.column_decoding import decode_columns

            decode = partial(decode_lists, self)
            return decode_columns(batch, self.scanner, LARGEST_KEY_BYTES, decode)
        return decode_lists(self, batch)

    def _unread(self, batch: Unread) -> Decoded:
        count = len(batch.offsets)
        times = [max(one, 0) for one in batch.timestamps]
        dead = DeadLetters([*batch.offsets], times, [Reason.TOO_LARGE] * count, [""] * count)
        nothing = np.array([], dtype=self.domain.dtype)
        events: list[int] | None = None if self.event is None else []
        return Decoded(batch.partition, [], [], [], nothing, events, dead)

    @property
    def on_plain_json(self) -> "Codec":
        """Return a codec that reads the same paths in objects of JSON, for made-up records, which
        have keys."""
        return replace(self, envelope=None, wire=None, key=None, forwarded=False)

    def keys_of(self, batch: Batch) -> Sequence[bytes | None]:
        """Return the key of the user of each record; None where nobody can be read."""
        if self.key is None:
            return batch.keys
        pairs = zip(batch.values, batch.headers, strict=True)
        return [self._key_anyhow(content, headers) for content, headers in pairs]

    def _key_anyhow(self, content: bytes | None, headers: Sequence[Header]) -> bytes | None:
        try:
            return self.key_of(content, headers)
        except Exception as error:
            if not is_of_one_record(error):
                raise
            return None

    @cached_property
    def scanner(self) -> "Scanner | None":
        """Return what reads most records of a column, where that can be compiled."""
        if self.envelope is not None or self.wire is not None or not compiled.available():
            return None
        from fugu.dataflows.records.scanner import scanner_of

        return scanner_of(
            self.domain, self.max_value_bytes, self.timestamp, self.event, self.exact, self.key
        )

    def warm_up(self) -> None:
        """Compile what reads columns, before the first record waits for it."""
        if self.wire is not None:
            self.wire.prepare()
        if self.scanner is not None:
            self.scanner.read(OptionalByteColumn.of([b"{}"]))

    def is_ready(self, batch: Batch) -> bool:
        """Return whether a batch can be read at once, or waits for a schema."""
        return self.wire is None or self.wire.is_ready(batch.values)

    def encode(self, releases: Releases) -> Sequence[bytes]:
        """Write one JSON object per release, where values are released as they are read."""
        assert isinstance(self.domain, Domain)
        return self.domain.write(releases)
