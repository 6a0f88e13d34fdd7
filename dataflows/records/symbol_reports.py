"""Write reports of symbols as JSON: a set, and the epsilon that its bits were flipped with."""

from collections.abc import Sequence
from itertools import compress
from typing import ClassVar

import numpy as np

from fugu.dataflows.records.json_fields import ENDS, kinds_of
from fugu.dataflows.records.released_as import ReleasedAs
from fugu.dataflows.records.symbols import SymbolSets
from fugu.operators.byte_column import ByteColumn
from fugu.operators.mechanism import Releases


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
