"""Find what a topic holds behind the last snapshot of records that are gone from the source."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.kafka.client import Bounds, Client
from fugu.dataflows.kafka.sink import require_sink_offset
from fugu.dataflows.records.published import release_id_of

Names = Callable[[int, Sequence[int]], Sequence[bytes]]
"""Gives the names of what is made of records, by partition and offsets."""
_AT_ONCE = 100_000
_REPLAYED = 500_000
"""Count the records before the last snapshot of which there may be a late copy."""


@dataclass(frozen=True)
class Orphan:
    """Describe what was published about a record that is gone."""

    offset: int
    timestamp: int
    key: bytes
    value: bytes


@dataclass(frozen=True)
class Gap:
    """Hold where a start would resume in a partition of the source, and what it still holds."""

    partition: int
    resumed: int
    held: Bounds

    def positions(self, names: Names, wanted: set[bytes]) -> dict[bytes, int]:
        """Return the offsets of the records that these names belong to."""
        found: dict[bytes, int] = {}
        earliest = max(0, self.resumed - _REPLAYED)
        for first, end in ((self.resumed, self.held.end), (earliest, self.resumed)):
            for begin in range(first, end, _AT_ONCE):
                if len(found) == len(wanted):
                    return found
                offsets = range(begin, min(begin + _AT_ONCE, end))
                pairs = zip(names(self.partition, offsets), offsets, strict=True)
                found |= {name: offset for name, offset in pairs if name in wanted}
        return found


@dataclass(frozen=True)
class Tail:
    """Say where the first record is that a replay makes again, and what it cannot make again."""

    begin: int
    orphans: list[Orphan] = field(default_factory=list)


@dataclass(frozen=True)
class Outlet:
    """Name a partition of a topic, and which of its records are about one of the source."""

    topic: str
    place: int
    names: Names
    is_own: Callable[[bytes | None], bool] = lambda key: True


def tail_of(client: Client, outlet: Outlet, start: int, gap: Gap) -> Tail:
    """Return what stands in a topic from `start` on, each release once, in the order of records.

    Raises `StartRefused` where something is missing there, or belongs to no record of the source.
    """
    found: dict[bytes, Orphan] = {}
    with closing(client.reader(outlet.topic, headers=True)) as reader:
        bound = reader.bounds([outlet.place])[outlet.place]
        require_sink_offset(outlet.topic, outlet.place, start, bound)
        for batch in reader.read_range(outlet.place, start, bound.end):
            for offset, timestamp, key, value, headers in batch.records():
                name = release_id_of(headers)
                if name is not None and outlet.is_own(key):
                    found.setdefault(name, Orphan(offset, timestamp, key or b"", value or b""))
    positions = gap.positions(outlet.names, set(found))
    for name in found.keys() - positions.keys():
        raise StartRefused(
            f"topic {outlet.topic}, partition {outlet.place}, offset {found[name].offset} belongs "
            "to no record of the source under the present name, version and key of the pipeline, "
            "so it cannot be charged. Restore the state directory and the topic. Nothing was "
            "changed."
        )
    again = gap.held.start
    later = [one.offset for name, one in found.items() if positions[name] >= again]
    gone = [
        found[name]
        for name in sorted(found, key=positions.__getitem__)
        if gap.resumed <= positions[name] < again
    ]
    return Tail(min(later, default=bound.end), gone)
