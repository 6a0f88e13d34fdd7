"""Batches of symbols: read one by one as `Symbols` does, written as a list with a confidence."""

from collections.abc import Sequence

import orjson

from fugu.dataflows.records.symbols import Symbols
from fugu.operators.mechanism import Releases


class SymbolBatches(Symbols):
    """Reads one field as a symbol, and writes releases of several symbols into it.

    >>> import numpy as np
    >>> zones = SymbolBatches("zone", ["rest", "light"])
    >>> zones.write(Releases(np.array([[0, 1, 1]]), {"confidence": np.array([0.9])}))
    [b'{"zone":["rest","light","light"],"confidence":0.9000}']
    """

    def __init__(
        self,
        field: str,
        alphabet: Sequence[str] | Sequence[int],
        *,
        other: str | int | None = None,
    ) -> None:
        super().__init__(field, alphabet, other=other)
        self._start = b"{" + orjson.dumps(field) + b":["
        self._symbols = [orjson.dumps(symbol) for symbol in alphabet]

    def write(self, releases: Releases) -> list[bytes]:
        """Write one JSON object per release; a shorter final batch is a shorter list."""
        symbols, ends = self._symbols, self._ends[self._said(releases)].tolist()
        return [
            self._start
            + b",".join(symbols[symbol] for symbol in batch if symbol >= 0)
            + b'],"confidence":'
            + end
            for batch, end in zip(releases.values.tolist(), ends, strict=True)
        ]
