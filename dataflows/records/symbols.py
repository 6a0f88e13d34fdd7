"""Write releases of symbols as JSON: one symbol, a list or a set, with a confidence or without."""

from functools import cached_property
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.json_fields import ENDS, ends
from fugu.operators.mechanism import Releases


def _column(parts: list[bytes]) -> NDArray[np.object_]:
    """Return an array to pick from and to concatenate, without a step of Python for each entry."""
    return np.array(parts, dtype=object)


_STEPS = 10_000
_CONFIDENCES = [*(b"%.4f" % (step / _STEPS) for step in range(_STEPS + 1)), b"null"]
_NO_CONFIDENCE = _STEPS + 1
_CONFIDENCE_ENDS = _column([confidence + end for end in ENDS for confidence in _CONFIDENCES])


class Symbols(Alphabet):
    """Write each release as its symbol, with the probability that it is true.

    The probability is null where nothing is known about it.
    """

    def write(self, releases: Releases) -> list[bytes]:
        """Write one JSON object per release."""
        written: list[bytes] = (self._starts[releases.values] + _confidences(releases)).tolist()
        return written

    @cached_property
    def _starts(self) -> NDArray[np.object_]:
        return _column([self._start + symbol + b',"confidence":' for symbol in self._symbols])


class SymbolBatches(Alphabet):
    """Write each release of several symbols as their list, with one confidence.

    >>> zones = SymbolBatches("zone", ["rest", "light"])
    >>> zones.write(Releases(np.array([[0, 1, 1]]), {"confidence": np.array([0.9])}))
    [b'{"zone":["rest","light","light"],"confidence":0.9000}']
    """

    def write(self, releases: Releases) -> list[bytes]:
        """Write one JSON object per release; a shorter final batch is a shorter list."""
        start, symbols, ends = self._start + b"[", self._symbols, _confidences(releases).tolist()
        return [
            start
            + b",".join(symbols[symbol] for symbol in batch if symbol >= 0)
            + b'],"confidence":'
            + end
            for batch, end in zip(releases.values.tolist(), ends, strict=True)
        ]


class PlainSymbols(Alphabet):
    """Write each release as its symbol.

    >>> PlainSymbols("zone", ["rest", "light"]).write(Releases(np.array([1])))
    [b'{"zone":"light"}']
    """

    def write(self, releases: Releases) -> list[bytes]:
        """Write one JSON object per release."""
        return [
            self._start + self._symbols[symbol] + end
            for symbol, end in zip(releases.values.tolist(), ends(releases), strict=True)
        ]


class SymbolSets(Alphabet):
    """Write each release, one bit per symbol, as the list of those that are set.

    >>> bits = np.array([[True, False, True], [False, False, False]])
    >>> SymbolSets("zone", ["rest", "light", "vigorous"]).write(Releases(bits))
    [b'{"zone":["rest","vigorous"]}', b'{"zone":[]}']
    """

    def write(self, releases: Releases) -> list[bytes]:
        """Write one JSON object per release."""
        return [
            self._start + b"[" + b",".join(compress(self._symbols, bits)) + b"]" + end
            for bits, end in zip(releases.values.tolist(), ends(releases), strict=True)
        ]


def _confidences(releases: Releases) -> NDArray[np.object_]:
    """Return what follows the value of each release: its confidence, and the end of the object."""
    confidence = releases.annotations["confidence"]
    steps = np.where(np.isnan(confidence), _NO_CONFIDENCE, np.floor(confidence * _STEPS + 0.5))
    places = steps.astype(np.int64)
    if releases.kinds is not None:
        places += len(_CONFIDENCES) * releases.kinds.astype(np.int64)
    return _CONFIDENCE_ENDS[places]
