"""Recognise published records, and name where records of the internal topic by user come from."""

import re
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b

from fugu.dataflows.base.batches import Batch, Decoded, Header, Reason
from fugu.operators.columns import Field, encode_fields

RELEASE_HEADER = "fugu-release"
GUARANTEE_HEADER = "fugu-guarantee"
SEAL_HEADER = "fugu-seal"
"""The header with the seal of an entry of an internal log."""


def release_id_of(headers: list[Header]) -> bytes | None:
    """Return the release id that a record carries; None if it has none."""
    return next((content for name, content in headers if name == RELEASE_HEADER), None)


def record_digest(key: bytes | None, value: bytes, headers: list[Header], timestamp: int) -> bytes:
    """Return the digest that must be equal when a release is published again."""
    present = 0 if key is None else 1
    content = encode_fields(present, key or b"", value, timestamp, *fields_of(headers))
    return blake2b(content, digest_size=32).digest()


def fields_of(headers: Sequence[Header]) -> list[Field]:
    """Return names and contents of headers in their order; others may write some without content,
    which is as an empty one."""
    return [part or b"" for one in headers for part in one]


Origin = tuple[int, int]
"""Partition and offset of a record of the source."""

_ORIGIN = re.compile(rb"(0|[1-9][0-9]{0,9})/(0|[1-9][0-9]{0,18})")


def origin_key(partition: int, offset: int) -> bytes:
    """Return the key of a record that comes from here.

    >>> origin_key(3, 1742), origin_of(b"3/1742"), origin_of(b"anna")
    (b'3/1742', (3, 1742), None)
    """
    return b"%d/%d" % (partition, offset)


def origin_of(key: bytes | None) -> Origin | None:
    """Return where a record comes from; None if Fugu has not written it.

    Whoever else writes to the internal topic by user has no such key, or lies: its readers are
    those of private topics, and its writer is Fugu alone.
    """
    found = None if key is None else _ORIGIN.fullmatch(key)
    return None if found is None else (int(found[1]), int(found[2]))


def without_foreign(batch: Batch, decoded: Decoded) -> Decoded:
    """Return a batch in which records of other writers are dead letters, and move no time."""
    foreign = {
        offset: max(arrival, 0)
        for offset, arrival, key in zip(batch.offsets, batch.timestamps, batch.keys, strict=True)
        if origin_of(key) is None
    }
    if not foreign:
        return decoded
    kept = decoded.without(foreign)
    for offset, arrival in foreign.items():
        kept.dead.add(offset, arrival, Reason.NOT_FORWARDED)
    return replace(kept, dead=kept.dead.in_order())
