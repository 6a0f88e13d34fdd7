"""A pipeline to attack: the real lift over the streams of one partition, without Kafka."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fugu.dataflows.base.batches import DeadLetters, Decoded
from fugu.dataflows.stages.per_record import PerRecord
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Floats, Mechanism
from fugu.operators.noise.number_release import LaplaceRelease
from fugu.operators.randomness import DrawScope, Secret
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from tests.dataflows.stages.columns import EVERYBODY, SOURCE
from tests.privacy.chains import binary

Seen = dict[int, tuple[float, ...]]
"""The releases that a reader sees, by source offset: value, kind and annotations."""

FIRST = 60
"""The first offset of the victims' records."""


@dataclass(frozen=True)
class Record:
    """One record of the source partition."""

    offset: int
    key: bytes
    value: int


class Pipeline:
    """A running instance, with a state of its own."""

    def __init__(self, mechanism: Mechanism, scope: DrawScope) -> None:
        self.lift = PerRecord(mechanism, scope, SOURCE, EVERYBODY)
        self.table = RowTable(mechanism.start)

    def publish(self, records: Sequence[Record]) -> Seen:
        """Sanitize one batch."""
        sanitized = self.lift(_decoded(records), self.table)
        releases = sanitized.releases
        assert releases.kinds is not None
        columns = [releases.values, releases.kinds, *releases.annotations.values()]
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return dict(zip(sanitized.offsets, rows, strict=True))

    def snapshot(self) -> bytes:
        """The state as it would be stored."""
        return self.table.take_everything()

    def restore(self, snapshot: bytes) -> "Pipeline":
        """Go back to a stored state."""
        self.table = RowTable(self.lift.mechanism.start)
        self.table.apply(snapshot)
        return self


@dataclass(frozen=True)
class Victim:
    """A way to sanitize, and the two values that its private records have, `low` or `high`."""

    name: str
    configure: Callable[[], Mechanism]
    low: int
    high: int

    def pipeline(self, change: Callable[[DrawScope], DrawScope] = lambda scope: scope) -> Pipeline:
        """A new instance: same name, same version, same secret; `change` breaks its draws."""
        mechanism = self.configure()
        secret = Secret(bytes(range(32)))
        scope = DrawScope(secret, "victim", mechanism.kind, 1, mechanism.law_digest())
        return Pipeline(mechanism, change(scope))

    def records(self, users: int, each: int) -> list[Record]:
        """Records of so many users in turn, at every second offset from `FIRST` on."""
        chosen = np.random.default_rng(11).integers(2, size=users * each)
        values = np.where(chosen == 1, self.high, self.low).tolist()
        return [
            Record(FIRST + 2 * number, b"user-%d" % (number % users), value)
            for number, value in enumerate(values)
        ]

    def guesses(self, published: Sequence[Seen], records: Sequence[Record]) -> Floats:
        """The nearer of the two values to the mean of everything published for each record."""
        values = [[seen[record.offset][0] for record in records] for seen in published]
        nearer_high = np.mean(values, axis=0) > (self.low + self.high) / 2
        return np.where(nearer_high, self.high, self.low)


VICTIMS = (
    Victim("crr", lambda: ConditionalRandomizedResponse(binary(0.5, 0.5), epsilon=1.0), 0, 1),
    Victim("laplace", lambda: LaplaceRelease(lower=400, upper=2000, epsilon=1.0), 400, 2000),
)


def share_right(guesses: Floats, records: Sequence[Record]) -> float:
    """Return how many of the guesses are the truth."""
    return float(np.mean(guesses == np.array([record.value for record in records])))


def _decoded(records: Sequence[Record]) -> Decoded:
    return Decoded(
        partition=0,
        offsets=[record.offset for record in records],
        timestamps=[1000 + record.offset for record in records],
        keys=[record.key for record in records],
        values=np.array([record.value for record in records], dtype=np.int64),
        events=None,
        dead=DeadLetters(),
    )
