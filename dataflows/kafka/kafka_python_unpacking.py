"""Let kafka-python unpack no more than is allowed, and read headers whose names are no text.

It unpacks a batch in one go, whatever comes out, and has no setting against that. So the class that
makes records of what a consumer has fetched is replaced, for that consumer: batches are unpacked
here, piece by piece, and one poll makes records of so many bytes at most.
"""

import io
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, SupportsIndex

import kafka.codec as codecs
from kafka import KafkaConsumer
from kafka.consumer.fetcher import Fetcher
from kafka.errors import UnsupportedCodecError
from kafka.record.default_records import DefaultRecordBatch

from fugu.dataflows.base.batches import Header

_AT_ONCE, _FED = 1_048_576, 4_096
_MOST_POLLED_BYTES = 64 * 1_048_576
_NEWEST_FORMAT = 2
"""Brokers write no older one since Kafka 3.0, whatever a producer sends."""
_XERIAL_HEADER_BYTES, _LENGTH_BYTES = 16, 4


class TooMuch(Exception):
    """Stop unpacking: more would come out than is allowed, or it is no such thing."""


class Enough(Exception):
    """Stop making records: those of this poll are large."""


class StaysPacked(Exception):
    """Report the batch of a partition that is not unpacked."""

    def __init__(self, partition: int, base: int, last: int, timestamp: int) -> None:
        super().__init__(partition, base, last)
        self.partition, self.base, self.last, self.timestamp = partition, base, last, timestamp


@dataclass
class Allowance:
    """Hold how much a batch may be unpacked to, and how much this poll may still return."""

    most: int
    left: int = field(default=_MOST_POLLED_BYTES)

    def renew(self) -> None:
        """Begin another poll."""
        self.left = _MOST_POLLED_BYTES


def bounded(consumer: KafkaConsumer, most: int) -> Allowance:
    """Let a consumer unpack batches to so many bytes at most; return what it keeps to."""
    allowance = Allowance(most)

    class Bounded(_Records):
        allowed = allowance

    consumer._fetcher.PartitionRecords = Bounded
    return allowance


class _Records(Fetcher.PartitionRecords):  # type: ignore[misc]
    """Make records of what was fetched of a partition, within an allowance."""

    allowed: Allowance

    def take(self, n: int | None = None) -> list[Any]:
        """Return at most so many records; `Enough` once the bytes of a poll are used up."""
        taken = list[Any]()
        while n is None or len(taken) < n:
            if self.allowed.left <= 0:
                if not taken:
                    raise Enough
                break
            try:
                one = super().take(1)
            except Exception as error:
                if not taken:
                    raise
                self._next_inline_exception = error  # for the next call
                break
            if not one:
                break
            taken += one
            self.allowed.left -= len(one[0].key or b"") + len(one[0].value or b"")
        return taken

    def _unpack_records(self, place: Any, records: Any, *more: Any) -> Iterator[Any]:
        batches = _Batches(records, place.partition, self.allowed.most)
        yield from super()._unpack_records(place, batches, *more)


@dataclass(frozen=True)
class _Batches:
    """Hand out the batches that were fetched, each as one that is unpacked here."""

    records: Any
    partition: int
    most: int

    def next_batch(self) -> "_Batch | None":
        batch = self.records.next_batch()
        return None if batch is None else _Batch(batch, self.partition, self.most)


class _Batch:
    """Stand for a batch: all is asked of it, but that it is unpacked here."""

    def __init__(self, batch: Any, partition: int, most: int) -> None:
        self._batch, self._partition, self._most = batch, partition, most

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def __next__(self) -> Any:
        return next(self._batch)

    def __iter__(self) -> Iterator[Any]:
        batch = self._batch
        if batch.magic == _NEWEST_FORMAT and batch.compression_type and not batch._decompressed:
            try:
                batch._buffer = unpacked(
                    batch.compression_type, memoryview(batch._buffer)[batch._pos :], self._most
                )
            except TooMuch:
                place = self._partition, batch.base_offset, batch.last_offset
                raise StaysPacked(*place, batch.max_timestamp) from None
            batch._pos, batch._decompressed = 0, True
        return iter(batch)


def unpacked(codec: int, content: memoryview, most: int) -> bytearray:
    """Return what a batch holds; `TooMuch` where that is more than so many bytes."""
    found = _CODECS.get(codec)
    if found is None:
        raise UnsupportedCodecError(f"Unrecognized compression type: {codec}")
    name, has, pieces = found
    if most == 0:
        raise TooMuch
    if not has():
        raise UnsupportedCodecError(f"Libraries for {name} compression codec not found")
    whole = bytearray()
    try:
        for piece in pieces(content, most):
            if len(whole) + len(piece) > most:
                raise TooMuch
            whole += piece
    except MemoryError:
        raise
    except Exception:  # damaged: each library has its own
        raise TooMuch from None
    return whole


def _gzip(content: memoryview, most: int) -> Iterator[bytes]:
    """Unpack all members, fed a little at a time: at the end of each, what it leaves is copied."""
    unpacking = None
    for first in range(0, len(content), _FED):
        rest: bytes | memoryview = content[first : first + _FED]
        while rest:
            if unpacking is None or unpacking.eof:
                unpacking = zlib.decompressobj(wbits=31)
            yield unpacking.decompress(rest, _AT_ONCE)
            rest = unpacking.unused_data if unpacking.eof else unpacking.unconsumed_tail
    while unpacking is not None and not unpacking.eof:
        piece = unpacking.decompress(b"", _AT_ONCE)
        if not piece and not unpacking.eof:
            raise EOFError
        yield piece


def _zstd(content: memoryview, most: int) -> Iterator[bytes]:
    unpacking = codecs.zstd.ZstdDecompressor()
    with unpacking.stream_reader(io.BytesIO(content), read_across_frames=True) as reader:
        while piece := reader.read(_AT_ONCE):
            yield piece


def _lz4(content: memoryview, most: int) -> Iterator[bytes]:
    unpacking = codecs.lz4.LZ4FrameDecompressor()
    rest: bytes | memoryview | None = content
    while not unpacking.eof:
        piece = unpacking.decompress(rest or b"", _AT_ONCE)
        rest = None
        if not piece and unpacking.needs_input:
            raise EOFError
        yield piece


def _snappy(content: memoryview, most: int) -> Iterator[bytes]:
    """Unpack one block, or those of Java's framing; each says beforehand how large it will be."""
    if not codecs._detect_xerial_stream(content):
        yield _snappy_block(content, most)
        return
    rest = content[_XERIAL_HEADER_BYTES:]
    while rest:
        end = _LENGTH_BYTES + int.from_bytes(rest[:_LENGTH_BYTES], "big")
        yield _snappy_block(rest[_LENGTH_BYTES:end], most)
        rest = rest[end:]


def _snappy_block(block: memoryview, most: int) -> bytes:
    length = 0
    for place, byte in enumerate(block[:5]):
        length |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            break
    if length > most:
        raise TooMuch
    return bytes(codecs.snappy.decompress(block.tobytes()))


_Pieces = Callable[[memoryview, int], Iterator[bytes]]
_CODECS: Mapping[int, tuple[str, Callable[[], bool], _Pieces]] = {
    DefaultRecordBatch.CODEC_GZIP: ("gzip", codecs.has_gzip, _gzip),
    DefaultRecordBatch.CODEC_SNAPPY: ("snappy", codecs.has_snappy, _snappy),
    DefaultRecordBatch.CODEC_LZ4: ("lz4", lambda: codecs.lz4 is not None, _lz4),
    DefaultRecordBatch.CODEC_ZSTD: ("zstd", codecs.has_zstd, _zstd),
}


def readable(headers: list[Header]) -> list[Header]:
    """Return headers as librdkafka's reader does: none where a name is no text."""
    return [] if any(name is _NO_TEXT for name, _ in headers) else headers


_NO_TEXT = "no text"
"""Stands for the name of a header; one that is equal is another object."""


class _AnyNames(bytearray):
    """Hold records, of which names of headers need not be text."""

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        return found if isinstance(at, SupportsIndex) else _Name(found)


class _Name(bytearray):
    """Hold the name of a header; one that is no text becomes `_NO_TEXT`."""

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        try:
            return super().decode(encoding, errors)
        except UnicodeDecodeError:
            return _NO_TEXT


_read_record: Any = DefaultRecordBatch._read_msg


def _read_any_record(batch: Any, *options: Any) -> Any:
    """Read the next record of a batch; kafka-python stops for ever where a name is no text."""
    try:
        return _read_record(batch, *options)
    except UnicodeDecodeError:
        batch._buffer = _AnyNames(batch._buffer)
        return _read_record(batch, *options)


DefaultRecordBatch._read_msg = _read_any_record
