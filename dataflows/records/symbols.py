"""Read symbols, and write releases of them: one symbol, a set, or half of an alphabet."""

from collections.abc import Sequence
from functools import cached_property
from itertools import compress
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.json_fields import ENDS, WORTH_JSON_WRITING, ends, kinds_of
from fugu.dataflows.records.values import ReleasedAs
from fugu.operators import compiled
from fugu.operators.columns import ByteColumn
from fugu.operators.mechanism import Array, Integers, Releases
from fugu.operators.responses.hadamard_response import HadamardResponse

_STEPS = 10_000
_CONFIDENCES = [*(b"%.4f" % (step / _STEPS) for step in range(_STEPS + 1)), b"null"]
_NO_CONFIDENCE = _STEPS + 1
_CONFIDENCE_ENDS = [confidence + end for end in ENDS for confidence in _CONFIDENCES]


def _array(parts: list[bytes]) -> NDArray[np.object_]:
    """Return an array to pick from and to concatenate, without a step of Python for each entry."""
    return np.array(parts, dtype=object)


_ARRAY_OF_CONFIDENCE_ENDS = _array(_CONFIDENCE_ENDS)


class _SymbolWriter(Alphabet):
    """Write each release as some symbols, between what comes before and what may come after."""

    _before: ClassVar[bytes]
    _after: ClassVar[ByteColumn]

    def _columns(
        self, items: Array, places: Integers, after: ByteColumn | None = None
    ) -> ByteColumn | None:
        """Write rows of items, each with the end at its place; None where a loop is to do it."""
        if len(items) < WORTH_JSON_WRITING or not compiled.available():
            return None
        from fugu.dataflows.records.compiled_writing import write_symbols

        start = self._start + self._before
        ends = self._after if after is None else after
        return write_symbols(start, self._symbol_column, items, ends, places)

    @cached_property
    def _symbol_column(self) -> ByteColumn:
        return ByteColumn.of(self._symbols)


class Symbols(_SymbolWriter):
    """Write each release as its symbol, with the probability that it is true.

    The probability is null where nothing is known about it.
    """

    released_as: ClassVar[ReleasedAs] = "symbol"

    _before = b""
    _after = ByteColumn.of([b',"confidence":' + end for end in _CONFIDENCE_ENDS])

    def write(self, releases: Releases) -> Sequence[bytes]:
        """Write one JSON object per release."""
        places = _confidences(releases)
        if (columns := self._columns(releases.values[:, None], places)) is not None:
            return columns
        starts = self._starts[releases.values]
        written: list[bytes] = (starts + _ARRAY_OF_CONFIDENCE_ENDS[places]).tolist()
        return written

    @cached_property
    def _starts(self) -> NDArray[np.object_]:
        return _array([self._start + symbol + b',"confidence":' for symbol in self._symbols])


class SymbolBatches(_SymbolWriter):
    """Write each release of several symbols as their list, with one confidence.

    >>> zones = SymbolBatches("zone", ["rest", "light"])
    >>> zones.write(Releases(np.array([[0, 1, 1]]), {"confidence": np.array([0.9])}))
    [b'{"zone":["rest","light","light"],"confidence":0.9000}']
    """

    released_as: ClassVar[ReleasedAs] = "symbols"

    _before = b"["
    _after = ByteColumn.of([b'],"confidence":' + end for end in _CONFIDENCE_ENDS])

    def write(self, releases: Releases) -> Sequence[bytes]:
        """Write one JSON object per release; a shorter final batch is a shorter list."""
        places = _confidences(releases)
        if (columns := self._columns(releases.values, places)) is not None:
            return columns
        start, symbols = self._start + b"[", self._symbols
        return [
            start
            + b",".join(symbols[symbol] for symbol in batch if symbol >= 0)
            + b'],"confidence":'
            + _CONFIDENCE_ENDS[place]
            for batch, place in zip(releases.values.tolist(), places.tolist(), strict=True)
        ]


class PlainSymbols(_SymbolWriter):
    """Write each release as its symbol.

    >>> PlainSymbols("zone", ["rest", "light"]).write(Releases(np.array([1])))
    [b'{"zone":"light"}']
    """

    released_as: ClassVar[ReleasedAs] = "symbol"

    _before = b""
    _after = ByteColumn.of(ENDS)

    def write(self, releases: Releases) -> Sequence[bytes]:
        """Write one JSON object per release."""
        if (columns := self._columns(releases.values[:, None], kinds_of(releases))) is not None:
            return columns
        return [
            self._start + self._symbols[symbol] + end
            for symbol, end in zip(releases.values.tolist(), ends(releases), strict=True)
        ]


class SymbolSets(_SymbolWriter):
    """Write each release, one bit per symbol, as the list of those that are set.

    >>> bits = np.array([[True, False, True], [False, False, False]])
    >>> SymbolSets("zone", ["rest", "light", "vigorous"]).write(Releases(bits))
    [b'{"zone":["rest","vigorous"]}', b'{"zone":[]}']
    """

    released_as: ClassVar[ReleasedAs] = "set"

    _before = b"["
    _after = ByteColumn.of([b"]" + end for end in ENDS])

    def write(self, releases: Releases) -> Sequence[bytes]:
        """Write one JSON object per release."""
        members = np.where(releases.values, np.arange(self.size), -1)
        if (columns := self._columns(members, kinds_of(releases))) is not None:
            return columns
        return [
            self._start + b"[" + b",".join(compress(self._symbols, bits)) + b"]" + end
            for bits, end in zip(releases.values.tolist(), ends(releases), strict=True)
        ]


def _confidences(releases: Releases) -> Integers:
    """Return the place, among all ends, of the confidence and the kind of each release."""
    confidence = releases.annotations["confidence"]
    steps = np.where(np.isnan(confidence), _NO_CONFIDENCE, np.floor(confidence * _STEPS + 0.5))
    return steps.astype(np.int64) + len(_CONFIDENCES) * kinds_of(releases)


class SymbolReports(SymbolSets):
    """Write each report as the list of symbols whose bits are set, and its epsilon in nats.

    >>> bits, epsilon = np.array([[True, False, True]]), np.array([0.125])
    >>> SymbolReports("zone", ["rest", "light", "vigorous"]).write(
    ...     Releases(bits, {"epsilon": epsilon}, np.array([1]))
    ... )
    [b'{"zone":["rest","vigorous"],"epsilon":0.125,"repeated":true}']
    """

    released_as: ClassVar[ReleasedAs] = "report"

    def write(self, releases: Releases) -> Sequence[bytes]:
        """Write one JSON object per release."""
        if not len(releases.values):
            return []
        distinct, which = np.unique(releases.annotations["epsilon"], return_inverse=True)
        told = [b'],"epsilon":%.9g' % nats for nats in distinct.tolist()]
        after = [one + end for end in ENDS for one in told]
        places = which + len(told) * kinds_of(releases)
        members = np.where(releases.values, np.arange(self.size), -1)
        columns = self._columns(members, places, ByteColumn.of(after))
        if columns is not None:
            return columns
        return [
            self._start + b"[" + b",".join(compress(self._symbols, bits)) + after[place]
            for bits, place in zip(releases.values.tolist(), places.tolist(), strict=True)
        ]


class HadamardHalves(Alphabet):
    """Write each release as the number of a row, and its sign.

    >>> import numpy as np
    >>> halves = HadamardHalves("zone", ["rest", "light", "vigorous"])
    >>> halves.write(Releases(halves.response.decoded(np.array([2]), np.array([0]))))
    [b'{"zone":[2,-1]}']
    """

    released_as: ClassVar[ReleasedAs] = "half"

    @cached_property
    def response(self) -> HadamardResponse:
        """Return the law whose rows and signs are written; epsilon does not matter here."""
        return HadamardResponse(self.size, 1.0)

    def write(self, releases: Releases) -> Sequence[bytes]:
        """Write one JSON object per release."""
        rows, signs = self.response.coded(releases.values)
        return [
            b"%b[%d,%d]%b" % (self._start, row, 2 * sign - 1, end)
            for row, sign, end in zip(rows.tolist(), signs.tolist(), ends(releases), strict=True)
        ]
