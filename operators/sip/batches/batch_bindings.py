"""The bytes that draws for batches are bound to."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fugu.operators.byte_fields import binding_digest
from fugu.operators.mechanism import Integers, Words
from fugu.operators.sip.batches.likely_sequences import MOST_BATCHES
from fugu.operators.sip.symbol_inputs import bound_to


@dataclass(frozen=True)
class BatchBindings:
    """Bind draws to batches of at most `window` symbols and, through the belief, to releases."""

    symbols: int
    window: int

    def of(self, batches: Integers, histories: Words) -> list[bytes]:
        """Return one binding for each column of `batches (positions, rows)`."""
        if self.symbols ** len(batches) > MOST_BATCHES:
            digests = _digests(batches)
            return bound_to(digests, np.arange(len(digests)), histories)
        number = np.ravel_multi_index(tuple(batches), (self.symbols,) * len(batches))
        return bound_to(self._known[len(batches)], number, histories)

    @cached_property
    def _known(self) -> dict[int, tuple[bytes, ...]]:
        """Return the digests of all batches of each length that has few, in order."""
        n = self.symbols
        lengths = [w for w in range(1, self.window + 1) if n**w <= MOST_BATCHES]
        return {w: _digests(np.indices((n,) * w).reshape(w, -1)) for w in lengths}


def _digests(batches: Integers) -> tuple[bytes, ...]:
    ordered = np.ascontiguousarray(batches.T).astype("<i8")
    return tuple(binding_digest(batch.tobytes()) for batch in ordered)
