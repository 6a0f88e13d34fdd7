"""Payloads of temporal mechanisms: opaque bytes, or None."""

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from fugu.operators.mechanism import Array, Words

_DIGEST_BYTES = 32
_NOTHING = np.array(None, dtype=object)
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


def bound_to(values: Array, histories: Words) -> list[bytes]:
    """Return what draws are applied to: the payload, and through the history all before it.

    >>> values = np.array([b"7", None], dtype=object)
    >>> [len(bound) for bound in bound_to(checked(values), np.zeros(2, dtype=np.uint64))]
    [40, 8]
    """
    histories_bytes, payloads = histories.astype("<u8").tobytes(), values.tolist()
    digests = {value: _digest(value) for value in set(payloads)}
    return [
        digests[value] + histories_bytes[8 * row : 8 * row + 8]
        for row, value in enumerate(payloads)
    ]


def _digest(value: bytes | None) -> bytes:
    return b"" if value is None else blake2b(value, digest_size=_DIGEST_BYTES).digest()
