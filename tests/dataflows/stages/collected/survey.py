"""Partitions whose users report privately, and the collector of what they write, without Kafka."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from fugu.dataflows.base.batches import Batch, Decoded
from fugu.dataflows.base.ticks import StreamTime, Ticks
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.contributions import Contributions
from fugu.dataflows.records.json_fields import FieldTimestamp
from fugu.dataflows.stages.log_entries import Asking, read_entry
from fugu.dataflows.stages.merging import Merging, OpenTicks
from fugu.dataflows.stages.private_reports import READ, PrivateReports
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.ldp_ids.collector import Collector
from fugu.operators.randomness import DrawScope, Secret

GROUPS = ["north", "south", "west"]
SECONDS = Ticks(width=1_000, grace=500, max_jump=30, time=StreamTime(1))

Message = tuple[str, int, str]
"""Users, each with a time and a place."""
Figures = dict[int, list[float]]


@dataclass
class Survey:
    """Run all partitions over one log; entries are written and read as bytes."""

    mechanism: Collector
    partitions: int = 2
    admission: Admission = field(default_factory=lambda: Admission("unchecked", 1, 1_000))
    ticks: Ticks = SECONDS

    def __post_init__(self) -> None:
        kind, law = self.mechanism.kind, self.mechanism.law_digest()
        scope = DrawScope(Secret(bytes(32)), "city", kind, 1, law)
        self.stage = PrivateReports(
            self.ticks,
            len(GROUPS),
            self.admission,
            reporting=self.mechanism.reporting,
            scope=scope,
            source="topic-id",
        )
        self.codec = Codec(
            Contributions(Alphabet("zone", GROUPS), None), 1_000_000, FieldTimestamp("at", 1)
        )
        self.merge = Merging(
            self.mechanism, scope, "topic-id", self.partitions, self.mechanism.numbers
        )
        self.state = self.merge.start()
        self.tables = [RowTable(self.stage.start) for _ in range(self.partitions)]
        self.held: list[deque[Decoded]] = [deque() for _ in range(self.partitions)]
        self.log: list[bytes] = []
        self.figures = Figures()
        self.dead: list[tuple[int, int, str]] = []

    def feed(self, batches: Sequence[Batch]) -> None:
        """Give every partition its records, and let both halves run until nothing moves."""
        for batch in batches:
            self.held[batch.partition].append(self.codec.decode(batch))
            self.settle()

    def settle(self) -> None:
        """Let partitions go on as far as they know what is asked."""
        while any(self._moved(partition) for partition in range(self.partitions)):
            pass

    def _moved(self, partition: int) -> bool:
        held, moved = self.held[partition], False
        while held:
            made, left, _ = self.stage.advance(held.popleft(), self.tables[partition])
            if left is not None:
                held.appendleft(left)
            dead = zip(made.dead.offsets, made.dead.reasons, strict=True)
            self.dead += [(partition, offset, str(reason)) for offset, reason in dead]
            for one in made.partials:
                self.write(one.encoded())
                moved = True
            if left is not None:
                break
        return moved

    def write(self, entry: bytes) -> None:
        """Append to the log, which both halves read at once."""
        self.log.append(entry)
        one = read_entry(entry, "log")
        if isinstance(one, Asking):
            for table in self.tables:
                self.stage.hear(table, one)
        for tick, releases in self.merge(self.state, one):
            assert tick not in self.figures
            self.figures[tick] = releases.values[0].tolist()
        if (asking := self.merge.asking(self.state)) is not None:
            self.write(asking.encoded())

    def restart(self, batches: Sequence[Batch]) -> None:
        """Write both halves and read them back; records that were held are read again."""

        def load(_: str) -> OpenTicks:
            sums = OpenTicks()
            sums.apply(self.state.open.take_everything())
            return sums

        self.state = self.merge.restored(self.state.encoded(), load)
        for partition, table in enumerate(self.tables):
            fresh = RowTable(self.stage.start)
            fresh.apply(table.take_everything())
            self.tables[partition] = fresh
            self.held[partition].clear()
            again = [one for one in batches if one.partition == partition]
            self.held[partition] += [
                decoded
                for one in again
                if (decoded := self.codec.decode(one)).end > fresh.clock.get(READ, 0)
            ]


def batches(messages: Sequence[tuple[int, Message]], at_once: int) -> list[Batch]:
    """Cut the messages of all partitions into batches, in turn."""
    offsets: dict[int, int] = {}
    cut: list[Batch] = []
    for start in range(0, len(messages), at_once):
        some = messages[start : start + at_once]
        for partition in sorted({where for where, _ in some}):
            own = [message for where, message in some if where == partition]
            first = offsets.get(partition, 0)
            offsets[partition] = first + len(own)
            cut.append(
                Batch(
                    partition,
                    list(range(first, first + len(own))),
                    [0] * len(own),
                    [who.encode() for who, *_ in own],
                    [b'{"at": %d, "zone": "%b"}' % (when, zone.encode()) for _, when, zone in own],
                    [[] for _ in own],
                )
            )
    return cut
