"""Write halves of an alphabet as JSON: the row of a Hadamard matrix that names them, and a sign."""

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.json_fields import ends
from fugu.dataflows.records.released_as import ReleasedAs
from fugu.operators.mechanism import Releases
from fugu.operators.responses.hadamard_response import HadamardResponse


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
