"""Check symbols and beliefs that a step is given, and bind its draws."""

from collections.abc import Iterable

import numpy as np

from fugu.operators.byte_column import ByteColumn, Bytes, bytes_of
from fugu.operators.byte_fields import DIGEST_BYTES, Field, binding_digest
from fugu.operators.mechanism import Floats, Inputs, Integers, Words
from fugu.operators.sip.markov_model import SUM_TOLERANCE, ordered_sum


def checked_symbols(inputs: Inputs, symbols: int) -> Integers:
    """Raise `ValueError` for an index outside 0..symbols-1."""
    values = inputs.values.astype("int64", copy=False)
    if ((values < 0) | (values >= symbols)).any():
        raise ValueError(f"a symbol index is outside 0..{symbols - 1}")
    return values


def checked_belief(rows: Floats) -> Floats:
    """Return the beliefs as `(states, rows)`; `ValueError` for one that is no distribution."""
    belief = np.ascontiguousarray(rows.T)
    total = ordered_sum(belief)
    sound = (np.abs(total - 1.0) <= SUM_TOLERANCE) & (belief >= 0.0).all(axis=0)
    if not sound.all():
        raise ValueError(f"the belief of row {int(np.argmin(sound))} is not a distribution")
    return belief


def digest_table(data: Iterable[Field]) -> Bytes:
    """Return the digest of each item of what draws can be bound to, one row each."""
    return bytes_of(b"".join(map(binding_digest, data))).reshape(-1, DIGEST_BYTES)


def bound_to(digests: Bytes, data: Integers, histories: Words) -> ByteColumn:
    """Bind draws to the data and, through the belief, to what was published before."""
    releases = histories.astype("<u8").view(np.uint8).reshape(len(histories), -1)
    return ByteColumn.of_table(np.concatenate([digests[data], releases], axis=1))
