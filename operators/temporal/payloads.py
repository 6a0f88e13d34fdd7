"""Payloads of temporal mechanisms: opaque bytes, or None."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from fugu.operators.byte_column import ByteColumn
from fugu.operators.byte_fields import DIGEST_BYTES
from fugu.operators.digests import digests_of
from fugu.operators.mechanism import Array, Words

_NOTHING = np.array(None, dtype=object)
_WORTH_A_COLUMN = 64
"""Fewer payloads are digested sooner one by one."""
_UNREAD = b"null"
"""Digested where there is no payload; the digest is left out."""
_ALLOWED = {bytes, type(None)}


def checked(values: Array) -> Array:
    """Return values if they are an object array of bytes and None; else raise `ValueError`.

    None is a tick without a value, which is treated exactly like one.
    """
    if values.dtype != object or not set(map(type, values.tolist())) <= _ALLOWED:
        raise ValueError("payloads are an object array whose cells are bytes or None")
    return values


def is_there(payloads: Array) -> NDArray[np.bool_]:
    """Return which of them are not None."""
    return np.asarray(np.not_equal(payloads, _NOTHING))


def bound_to(values: Array, histories: Words) -> Sequence[bytes]:
    """Return what draws are applied to: the payload, and through the history all before it.

    >>> values = np.array([b"7", None], dtype=object)
    >>> [len(bound) for bound in bound_to(checked(values), np.zeros(2, dtype=np.uint64))]
    [40, 8]
    """
    payloads, before = values.tolist(), histories.astype("<u8").reshape(-1, 1).view(np.uint8)
    if len(payloads) < _WORTH_A_COLUMN:
        pairs = zip(map(_digest, payloads), before, strict=True)
        return [digest + history.tobytes() for digest, history in pairs]
    digests = digests_of([_UNREAD if value is None else value for value in payloads])
    table = digests.content.reshape(-1, DIGEST_BYTES)
    bound = ByteColumn.of_table(np.hstack([table, before]))
    left_out = np.where(is_there(values), 0, DIGEST_BYTES)
    return ByteColumn(bound.content, bound.begins + left_out, bound.lengths - left_out)


def _digest(value: bytes | None) -> bytes:
    return b"" if value is None else blake2b(value, digest_size=DIGEST_BYTES).digest()
