"""Symbols of a declared alphabet: strings or integers in, the same out with a confidence."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.records.alphabet import Alphabet
from fugu.operators.mechanism import Integers, Releases

_STEPS = 10_000
_CONFIDENCES = [*(b"%.4f" % (step / _STEPS) for step in range(_STEPS + 1)), b"null"]
_NO_CONFIDENCE = _STEPS + 1
_ENDS = (b"}", b',"repeated":true}')
"""Of releases that are `Kind.FRESH`, and `Kind.REPEATED`: no others are written."""


class Symbols(Alphabet):
    """Reads one field as a symbol, and writes releases of symbols."""

    def __init__(
        self,
        field: str,
        alphabet: Sequence[str] | Sequence[int],
        *,
        other: str | int | None = None,
    ) -> None:
        super().__init__(field, alphabet, other=other)
        self._starts = _column(
            [self._start + symbol + b',"confidence":' for symbol in self._symbols]
        )
        self._ends = _column([confidence + end for end in _ENDS for confidence in _CONFIDENCES])

    def write(self, releases: Releases) -> list[bytes]:
        """Write one JSON object per release: the symbol, and the probability that it is true.

        The probability is null where nothing is said about it.
        """
        written: list[bytes] = (
            self._starts[releases.values] + self._ends[self._said(releases)]
        ).tolist()
        return written

    def _said(self, releases: Releases) -> Integers:
        """Choose which of `_ends` follows the value in each record."""
        confidence = releases.annotations["confidence"]
        steps = np.where(np.isnan(confidence), _NO_CONFIDENCE, np.floor(confidence * _STEPS + 0.5))
        ends = steps.astype(np.int64)
        if releases.kinds is not None:
            ends += len(_CONFIDENCES) * releases.kinds.astype(np.int64)
        return ends


def _column(parts: list[bytes]) -> NDArray[np.object_]:
    """Picked from, and put together, without a step of Python for each."""
    return np.array(parts, dtype=object)
