"""Unpack a batch of records piece by piece, and stop where more comes out than is allowed."""

import gzip
import time
import tracemalloc
import zlib

import pytest

from fugu.dataflows.kafka.kafka_python_unpacking import TooMuch, unpacked

GZIP = 1


def test_as_much_as_is_allowed_is_unpacked() -> None:
    content = bytes(range(256)) * 10_000
    assert unpacked(GZIP, memoryview(gzip.compress(content)), len(content)) == content
    with pytest.raises(TooMuch):
        unpacked(GZIP, memoryview(gzip.compress(content)), len(content) - 1)


def test_all_members_of_a_stream_count() -> None:
    two = memoryview(gzip.compress(b"a" * 1_000) + gzip.compress(b"b" * 1_000))
    assert unpacked(GZIP, two, 2_000) == b"a" * 1_000 + b"b" * 1_000
    with pytest.raises(TooMuch):
        unpacked(GZIP, two, 1_999)


def test_many_empty_members_take_no_more_time_than_their_bytes() -> None:
    empty, content = gzip.compress(b""), gzip.compress(b"a")
    begun = time.process_time()
    assert unpacked(GZIP, memoryview(empty * 200_000 + content), 2_000) == b"a"
    assert time.process_time() - begun < 4.0


@pytest.mark.parametrize("length", [0, 1, 4_095, 4_096, 4_097, 3_000_000])
@pytest.mark.parametrize("letters", [1, 256])
def test_members_of_every_length_are_unpacked(length: int, letters: int) -> None:
    content = bytes(place * place % letters for place in range(length))
    whole = gzip.compress(content) * 2
    assert unpacked(GZIP, memoryview(whole), 2 * length + 1) == content * 2


@pytest.mark.parametrize(
    "content", [gzip.compress(b"a" * 1_000)[:-9], b"\x1f\x8bno", b"{}"], ids=["cut", "odd", "plain"]
)
def test_what_is_damaged_stays_packed(content: bytes) -> None:
    with pytest.raises(TooMuch):
        unpacked(GZIP, memoryview(content), 1_000)


def test_what_is_too_much_takes_no_more_memory_than_is_allowed() -> None:
    packing = zlib.compressobj(wbits=31)
    bomb = b"".join(packing.compress(bytes(1_000_000)) for _ in range(60)) + packing.flush()
    tracemalloc.start()
    try:
        with pytest.raises(TooMuch):
            unpacked(GZIP, memoryview(bomb), 4_000_000)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 12_000_000
