"""Reports about symbols without a word on how likely they are: one symbol, or a set of them."""

from itertools import compress

from fugu.dataflows.records.alphabet import Alphabet
from fugu.operators.mechanism import Kind, Releases

_ENDS: dict[int, bytes] = {Kind.FRESH: b"}", Kind.REPEATED: b',"repeated":true}'}


class PlainSymbols(Alphabet):
    """Writes each release as its symbol.

    >>> import numpy as np
    >>> PlainSymbols("zone", ["rest", "light"]).write(Releases(np.array([1])))
    [b'{"zone":"light"}']
    """

    def write(self, releases: Releases) -> list[bytes]:
        """Write one JSON object per release."""
        return [
            self._start + self._symbols[symbol] + end
            for symbol, end in zip(releases.values.tolist(), _ends(releases), strict=True)
        ]


class SymbolSets(Alphabet):
    """Writes each release, one bit per symbol, as the list of those that are set.

    >>> import numpy as np
    >>> bits = np.array([[True, False, True], [False, False, False]])
    >>> SymbolSets("zone", ["rest", "light", "vigorous"]).write(Releases(bits))
    [b'{"zone":["rest","vigorous"]}', b'{"zone":[]}']
    """

    def write(self, releases: Releases) -> list[bytes]:
        """Write one JSON object per release."""
        return [
            self._start + b"[" + b",".join(compress(self._symbols, bits)) + b"]" + end
            for bits, end in zip(releases.values.tolist(), _ends(releases), strict=True)
        ]


def _ends(releases: Releases) -> list[bytes]:
    if releases.kinds is None:
        return [_ENDS[Kind.FRESH]] * len(releases.values)
    return [_ENDS[kind] for kind in releases.kinds.tolist()]
