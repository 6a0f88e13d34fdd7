"""The bytes that draws for batches are bound to."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fugu.operators.byte_column import ByteColumn, Bytes
from fugu.operators.byte_fields import DIGEST_BYTES, encode_field
from fugu.operators.digests import digests_of
from fugu.operators.mechanism import Integers, Words
from fugu.operators.release_digest import extended
from fugu.operators.sip.batches.likely_sequences import MOST_BATCHES
from fugu.operators.sip.symbol_inputs import bound_to


@dataclass(frozen=True)
class BatchBindings:
    """Bind draws to batches of at most `window` symbols and, through the belief, to releases."""

    symbols: int
    window: int

    def of(self, batches: Integers, histories: Words) -> ByteColumn:
        """Return one binding for each column of `batches (positions, rows)`."""
        if self.symbols ** len(batches) > MOST_BATCHES:
            return bound_to(_digests(batches), np.arange(batches.shape[1]), histories)
        number = np.ravel_multi_index(tuple(batches), (self.symbols,) * len(batches))
        return bound_to(self._known[len(batches)], number, histories)

    @cached_property
    def _known(self) -> dict[int, Bytes]:
        """Return the digests of all batches of each length that has few, in order."""
        n = self.symbols
        lengths = [w for w in range(1, self.window + 1) if n**w <= MOST_BATCHES]
        return {w: _digests(np.indices((n,) * w).reshape(w, -1)) for w in lengths}


def extended_by_batch(history: Words, released: Integers) -> Words:
    """Return the digest of what was released, with a batch of each row, `(positions, rows)`."""
    history = extended(history, np.full(released.shape[1], len(released)))
    for symbols in released:
        history = extended(history, symbols)
    return history


def _digests(batches: Integers) -> Bytes:
    """Return the `binding_digest` of the bytes of each batch, one row each."""
    content = np.ascontiguousarray(batches.T).astype("<i8").view(np.uint8)
    size = encode_field(content[0].tobytes())[: -content.shape[1]]
    sizes = np.tile(np.frombuffer(size, dtype=np.uint8), (len(content), 1))
    digests = digests_of(ByteColumn.of_table(np.concatenate([sizes, content], axis=1)))
    return digests.content.reshape(-1, DIGEST_BYTES)
