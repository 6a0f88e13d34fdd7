"""Symbols of a declared alphabet: strings or integers in, the same out with a confidence."""

from collections.abc import Sequence

import numpy as np

from dataflows.codec.alphabet import Alphabet
from operators.mechanism import Kind, Releases

_STEPS = 10_000
_CONFIDENCES = [*(b"%.4f" % (step / _STEPS) for step in range(_STEPS + 1)), b"null"]
_NO_CONFIDENCE = _STEPS + 1


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
        self._starts = [self._start + symbol + b',"confidence":' for symbol in self._symbols]
        self._ends = {
            Kind.FRESH: [confidence + b"}" for confidence in _CONFIDENCES],
            Kind.REPEATED: [confidence + b',"repeated":true}' for confidence in _CONFIDENCES],
        }

    def write(self, releases: Releases) -> list[bytes]:
        """One JSON object per release: the symbol, and the probability that it is the true one,
        null where nothing is said about it."""
        return [
            self._starts[symbol] + end
            for symbol, end in zip(releases.values.tolist(), self._said(releases), strict=True)
        ]

    def _said(self, releases: Releases) -> list[bytes]:
        """What follows the value in each record."""
        confidence = releases.annotations["confidence"]
        steps = np.where(np.isnan(confidence), _NO_CONFIDENCE, np.floor(confidence * _STEPS + 0.5))
        kinds = [Kind.FRESH] * len(steps) if releases.kinds is None else releases.kinds.tolist()
        ends = self._ends
        return [
            ends[kind][step]
            for kind, step in zip(kinds, steps.astype(np.int64).tolist(), strict=True)
        ]
