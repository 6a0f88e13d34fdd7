"""The word layout written down a second time, in one straight line and with literal bytes only."""

from hashlib import blake2b


def sized(content: bytes) -> bytes:
    """u32le(length) ‖ bytes."""
    return len(content).to_bytes(4, "little") + content


def number(value: int) -> bytes:
    """An integer field: 8-byte big-endian two's complement, with its length."""
    return sized(value.to_bytes(8, "big", signed=True))


def record_position(topic: str, partition: int, offset: int) -> bytes:
    return sized(topic.encode()) + number(partition) + number(offset)


def word(
    *,
    key: bytes,
    key_epoch: int,
    pipeline: str,
    operator: str,
    version: int,
    law: bytes,
    stream_key: bytes,
    position: bytes,
    purpose: str,
    coordinate: int,
    binding: bytes,
    index: int,
) -> int:
    """Word `index` of a draw."""
    data = sized(b"fugu-words-v1")
    data += number(key_epoch)
    data += sized(pipeline.encode())
    data += sized(operator.encode())
    data += number(version)
    data += sized(law)
    data += sized(stream_key)
    data += sized(position)
    data += sized(purpose.encode())
    data += number(coordinate)
    data += sized(binding)
    data += (index // 8).to_bytes(4, "little")
    block = blake2b(data, key=key, digest_size=64).digest()
    start = 8 * (index % 8)
    return int.from_bytes(block[start : start + 8], "little")


def release_id(
    *,
    key: bytes,
    pipeline: str,
    operator: str,
    version: int,
    purpose: str,
    topic: str,
    partition: int,
    offset: int,
) -> bytes:
    """The public name of the release at one offset: a quarter of a block, in hexadecimal."""
    data = sized(b"fugu-release-id-v1")
    data += sized(pipeline.encode())
    data += sized(operator.encode())
    data += number(version)
    data += sized(purpose.encode())
    data += sized(topic.encode())
    data += number(partition)
    data += number(offset // 4)
    block = blake2b(data, key=key, digest_size=64).digest()
    start = 16 * (offset % 4)
    return block[start : start + 16].hex().encode()
