"""Read a field that holds symbols of a declared alphabet, strings or integers."""

from collections.abc import Sequence
from itertools import repeat

import numpy as np
import orjson

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.field_paths import released_name
from fugu.dataflows.records.json_fields import Record, Refused, of_wrong_type, required

_OUTSIDE = -1
"""No symbol has this index."""


class Alphabet:
    """Read one field as a symbol; one that is not in the alphabet is refused, or read as `other`.

    >>> Alphabet("zone", ["rest", "light"], other="rest").read({"zone": "unheard of"})
    0
    """

    dtype = np.dtype(np.int64)

    def __init__(
        self, field: str, alphabet: Sequence[str] | Sequence[int], *, other: str | int | None = None
    ) -> None:
        self.field = field
        self.index: dict[object, int] = {symbol: i for i, symbol in enumerate(alphabet)}
        self._type = type(alphabet[0])
        self.other = _OUTSIDE if other is None else self.index[other]
        self.released_name = released_name(field)
        self._start = b"{" + orjson.dumps(self.released_name) + b":"
        self._symbols = [orjson.dumps(symbol) for symbol in alphabet]

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the field."""
        return (self.field,)

    @property
    def size(self) -> int:
        """Return the number of symbols."""
        return len(self._symbols)

    def read(self, record: Record) -> int:
        """Return the index of the symbol."""
        return self.index_of(required(record, self.field))

    def read_release(self, release: Record) -> int:
        """Return the index of the symbol that a release shows."""
        return self.index_of(required(release, self.released_name))

    def read_column(self, records: Sequence[Record]) -> list[int]:
        """Read many records at once."""
        column = [record.get(self.field) for record in records]
        if set(map(type, column)) == {self._type}:
            symbols = list(map(self.index.get, column, repeat(self.other)))
            if _OUTSIDE not in symbols:
                return symbols
        return list(map(self.read, records))

    def index_of(self, value: object) -> int:
        """Return the index of what a field holds."""
        if type(value) is not self._type:
            raise of_wrong_type(value, self.field)
        symbol = self.index.get(value, self.other)
        if symbol == _OUTSIDE:
            raise Refused(Reason.OUTSIDE_DOMAIN, self.field)
        return symbol
