"""A flag that a public chain gives, by the time since the last report."""

from dataclasses import dataclass, field

import numpy as np

from fugu.operators.byte_fields import encode_fields
from fugu.operators.declared import take_whole_numbers
from fugu.operators.mechanism import State
from fugu.operators.wevent.allocation import Booleans
from fugu.operators.wevent.flags import Flags, dobrushin, require_share


@dataclass(frozen=True)
class MarkovSinceReport(Flags):
    """Flag a position while the chain still links it with the last report.

    That is so if the Dobrushin coefficient of the matrix to the power m reaches the threshold, for
    the m positions since the last report, and at most `window` of them. It never grows with m, so
    the chain links positions up to some m, and none beyond. Without a report, nothing is flagged.
    Row i, column j of `matrix` is P(next = j given now = i).

    >>> flags = MarkovSinceReport(((0.9, 0.1), (0.1, 0.9)), window=4)
    >>> flags.now({"since": np.array([0, 1, 2, 3, 4, 9])}).tolist()
    [False, True, True, True, False, False]

    Source: PBA specification, section 2.3.
    """

    matrix: tuple[tuple[float, ...], ...]
    window: int
    threshold: float = 0.5
    links: tuple[bool, ...] = field(init=False)
    """Say whether a report so many positions ago, 0 to `window`, still is linked."""

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        require_share("threshold", self.threshold)
        linked, power = 0, [list(row) for row in self.matrix]
        while linked < self.window and dobrushin(power) >= self.threshold:
            linked += 1
            power = _product(power, self.matrix)
        links = (False, *[True] * linked, *[False] * (self.window - linked))
        object.__setattr__(self, "links", links)

    def now(self, state: State) -> Booleans:
        return np.asarray(np.array(self.links)[np.minimum(state["since"], self.window)])

    def identity(self) -> bytes:
        return encode_fields("markov since the last report", bytes(self.links))


def _product(one: list[list[float]], other: tuple[tuple[float, ...], ...]) -> list[list[float]]:
    """Return the matrix product, each row brought to the sum of 1 again."""
    columns = list(zip(*other, strict=True))
    rows = [
        [sum(a * b for a, b in zip(row, column, strict=True)) for column in columns] for row in one
    ]
    return [[entry / sum(row) for entry in row] for row in rows]
