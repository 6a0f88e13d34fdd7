"""Read published records as numbers, so that events can be looked for among them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import orjson

from fugu.dataflows.base.batches import Header, Outgoing
from fugu.dataflows.base.field_paths import released_name
from fugu.dataflows.offline.auditing.labels import label_beside, label_of
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.published import RELEASE_HEADER
from fugu.dataflows.records.symbols import HadamardHalves, SymbolSets
from fugu.dataflows.records.values import Values
from fugu.operators.mechanism import Floats

_REMEMBERED = 2**16

Row = tuple[float, ...]


@dataclass(frozen=True)
class PublishedNumbers:
    """Read everything that a published record tells, but for its name and its release id.

    A row holds the timestamp, then the released symbols, bits or number, the confidence, whether it
    is marked as repeated, and a label, which is the same for equal bytes only: of all bytes, or of
    those beside a number or a set. `symbols` are the most in one list.
    """

    domain: Values
    symbols: int = 1
    _known: dict[bytes, Row] = field(default_factory=dict, repr=False)

    @property
    def width(self) -> int:
        """Return how many numbers a row has."""
        return 4 + self._entries

    def rows(self, published: Outgoing) -> Floats:
        """Return one row for each record."""
        contents = map(self._content, published.values, published.headers)
        told = np.array(list(contents), dtype=np.float64).reshape(-1, self.width - 1)
        times = np.array(published.timestamps, dtype=np.float64)
        return np.concatenate([times[:, None], told], axis=1)

    @property
    def _entries(self) -> int:
        domain = self.domain
        if isinstance(domain, HadamardHalves):
            return 2
        return domain.size if isinstance(domain, SymbolSets) else self.symbols

    def _content(self, value: bytes, headers: Sequence[Header]) -> Row:
        beside = b"".join(content for name, content in headers if name != RELEASE_HEADER)
        known = self._known.get(value + beside)
        if known is not None:
            return known
        record = orjson.loads(value)
        name = released_name(self.domain.field)
        told, confidence = record[name], record.get("confidence")
        numbers = self._numbers(told if isinstance(told, list) else [told])
        if isinstance(self.domain, Alphabet) and not isinstance(self.domain, SymbolSets):
            label = label_of(value, headers)
        else:
            label = label_beside(record, name, headers)
        sure = np.nan if confidence is None else float(confidence)
        row = (*numbers, sure, float(record.get("repeated", False)), label)
        if len(self._known) < _REMEMBERED:
            self._known[value + beside] = row
        return row

    def _numbers(self, told: Sequence[object]) -> list[float]:
        domain = self.domain
        if not isinstance(domain, Alphabet) or isinstance(domain, HadamardHalves):
            return [float(str(number)) for number in told]
        indices = [domain.index_of(symbol) for symbol in told]
        if isinstance(domain, SymbolSets):
            return [float(symbol in indices) for symbol in range(domain.size)]
        return [*map(float, indices), *[np.nan] * (self._entries - len(indices))]
