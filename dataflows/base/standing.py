"""Hold where a running process stands: what its notices are found by, and nobody is shown.

Each entry is written by the thread that owns it; the thread that looks reads copies.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Told:
    """Hold up to which tick each of `partitions` has told all to the merge, of those that began."""

    partitions: int
    last: Mapping[int, int]

    @property
    def behind(self) -> list[int]:
        """Return the partitions that the others wait for, if there are any."""
        if not self.last:
            return []
        missing = [part for part in range(self.partitions) if part not in self.last]
        least, most = min(self.last.values()), max(self.last.values())
        if missing or least == most:
            return missing
        return sorted(part for part, tick in self.last.items() if tick == least)


_LAST = 1_000


@dataclass
class TimesRead:
    """Count how many of the last 1,000 records, or of the last batch, have times that nobody meant.

    `small` ones were read as long ago, `large` ones as beyond all years.
    """

    read: int = 0
    small: int = 0
    large: int = 0

    def add(self, read: int, small: int, large: int) -> None:
        """Count a batch."""
        if self.read + read > _LAST:
            self.read = self.small = self.large = 0
        self.read, self.small, self.large = self.read + read, self.small + small, self.large + large


@dataclass
class Joining:
    """Hold since when a process waits for a consumer group, and the last error."""

    since: float
    error: str = ""


@dataclass
class Standing:
    """Hold positions, stream times and the progress of the merge, of one process.

    `positions`: the next offset, by topic and partition. `times`: stream time, by partition of the
    source. `holding`: partitions whose open ticks hold values, as of the last snapshot.
    `crowded`: partitions where nearly all rows are taken, as of the last snapshot.
    `not_begun`: partitions that have refused records because stream time has not begun.
    `times_read`: the times of the last records of a partition, where a field holds them.
    `ahead_of_kafka`: how many records of a partition were refused because that time is far ahead of
    Kafka's. `spare`: the process shares a consumer group, which has no partition for it now.
    `joining`: topics of which a group has told this process nothing since it joined. `unowned`:
    positions in partitions that a group has given to no process of the pipeline, None where there
    is none yet.
    """

    positions: dict[tuple[str, int], int] = field(default_factory=dict)
    times: dict[int, int] = field(default_factory=dict)
    holding: set[int] = field(default_factory=set)
    crowded: set[int] = field(default_factory=set)
    not_begun: set[int] = field(default_factory=set)
    told: Told | None = None
    times_read: dict[int, TimesRead] = field(default_factory=dict)
    ahead_of_kafka: dict[int, int] = field(default_factory=dict)
    spare: bool = False
    joining: dict[str, Joining] = field(default_factory=dict)
    unowned: dict[tuple[str, int], int | None] = field(default_factory=dict)

    def joins(self, topic: str) -> None:
        """Note that a group is asked for partitions of a topic from now on."""
        self.joining[topic] = Joining(time.monotonic())

    def joined(self, topic: str) -> None:
        """Note that it has told which ones there are for this process, if any."""
        self.joining.pop(topic, None)

    def troubled(self, topic: str, error: str) -> None:
        """Note why that is tried again."""
        if topic in self.joining:
            self.joining[topic].error = error

    def forget(self, topic: str, partition: int) -> None:
        """Drop what is known of a partition of the source that another process owns now."""
        self.positions.pop((topic, partition), None)
        for known in (self.times, self.times_read, self.ahead_of_kafka):
            known.pop(partition, None)
        self.holding.discard(partition)
        self.crowded.discard(partition)
        self.not_begun.discard(partition)
