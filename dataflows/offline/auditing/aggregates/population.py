"""Make up a small population whose records reach two partitions, as bytes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice

import orjson

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.errors import CannotBeAudited
from fugu.dataflows.base.field_paths import placed
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.kafka.partitioner import Partitioner, partition_of
from fugu.dataflows.offline.auditing.aggregates.contributions import NONE, Contribution
from fugu.dataflows.records.json_fields import FieldTimestamp

PARTITIONS = 2
Said = tuple[Contribution, ...]
"""Hold what the person in question contributes to the ticks of a run, one by one."""


@dataclass(frozen=True)
class Population:
    """Let as few people write to the partition of the `person` as move stream time, and so to the
    other one, but for a crowd.

    So each of them is needed for it, the one whom inputs differ in too. All of them send two
    records per tick, of which the later one counts, and contribute `usual`. Every second tick a
    crowd of `crowd` people contributes `much`, so that figures move.
    """

    ticks: Ticks
    timestamp: FieldTimestamp | None
    partitioner: Partitioner
    person: bytes
    usual: Contribution
    much: Contribution = NONE
    crowd: int = 0
    keeps_presence: bool = True

    def batches(self, said: Said, first: int) -> Iterator[Batch]:
        """Yield the records of all ticks from `first` on, and of as many more as close them.

        A batch holds a tick of a partition; that of the person comes first.
        """
        home = self._home(self.person)
        offsets = [count(), count()]
        closing = -(-self.ticks.grace // self.ticks.width) + 1
        course = [*said, *[self.usual] * closing]
        for place, own in enumerate(course):
            for partition in (home, *(other for other in range(PARTITIONS) if other != home)):
                keys = self._others(partition)
                contributed = [self.usual] * len(keys)
                if partition == home:
                    keys, contributed = [*keys, self.person], [*contributed, own]
                written = [
                    (key, record)
                    for key, one in [*zip(keys, contributed, strict=True)] * 2
                    if (record := self._record(first + place, one)) is not None
                ]
                if partition != home and place % 2 == 0:
                    many = self._record(first + place, self.much) or b""
                    written += [(key, many) for key in self._crowd]
                yield self._batch(partition, first + place, written, offsets[partition])

    def _batch(
        self,
        partition: int,
        tick: int,
        written: Sequence[tuple[bytes, bytes]],
        offsets: Iterator[int],
    ) -> Batch:
        beats = sorted(self.ticks.time.heartbeats)
        written = [*((key, self._beat(tick)) for key in beats), *written]
        return Batch(
            partition,
            [next(offsets) for _ in written],
            [self._time(tick)] * len(written),
            [key for key, _ in written],
            [record for _, record in written],
            [[] for _ in written],
        )

    def _record(self, tick: int, one: Contribution) -> bytes | None:
        """Write a record that keeps its place and time, whatever it contributes."""
        if one != NONE:
            return orjson.dumps(placed({**self._when(tick), **dict(one.fields)}))
        return self._beat(tick) if self.keeps_presence else None

    def _beat(self, tick: int) -> bytes:
        """Write a record with a time and no contribution: it is refused, and its time counts."""
        start = orjson.dumps(placed(self._when(tick))).removesuffix(b"}")
        return start + b"," * (len(start) > 1) + b'"none":NaN}'

    def _when(self, tick: int) -> dict[str, object]:
        time = self.timestamp
        return {} if time is None else {time.field: time.written(self._time(tick))}

    def _time(self, tick: int) -> int:
        """Return the last time of a tick that records can state."""
        step = 1 if self.timestamp is None else self.timestamp.milliseconds_per_unit
        time = (self.ticks.end(tick) - 1) // step * step
        if self.ticks.of(time) != tick:
            raise CannotBeAudited(
                "fugu audit: ticks are shorter than the steps of source.timestamp, so that some "
                "hold no record. Write epoch-ms, or wider ticks"
            )
        return time

    @cached_property
    def _crowd(self) -> list[bytes]:
        home = self._home(self.person)
        names = (b"crowd-%d" % number for number in count())
        return list(islice((name for name in names if self._home(name) != home), self.crowd))

    def _others(self, partition: int) -> list[bytes]:
        time = self.ticks.time
        there = partition == self._home(self.person)
        wanted = 1 if time.heartbeats else max(0, time.distinct_keys - there)
        names = (b"person-%d" % number for number in count())
        mine = (name for name in names if self._home(name) == partition)
        return [next(mine) for _ in range(wanted)]

    def _home(self, key: bytes) -> int:
        if self.partitioner == "unchecked":
            return key[-1] % PARTITIONS
        return partition_of(key, PARTITIONS, self.partitioner)
