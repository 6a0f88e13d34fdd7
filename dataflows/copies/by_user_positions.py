"""Find where the records of a source are written by user from.

The consumer group knows that. Kafka forgets positions of a group without members after a while.
Then the internal topic is asked what it holds.
"""

import logging
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.copies.by_user import ByUser
from fugu.dataflows.copies.patience import Patience
from fugu.dataflows.kafka.client import Bounds, CopyClient, GroupMember, Reader
from fugu.dataflows.records.published import origin_of

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Positions:
    """Find positions in the source, by a member of the group that writes; it may take `seconds`."""

    what: ByUser
    client: CopyClient
    reader: Reader
    member: GroupMember
    seconds: float

    def of(self, partitions: Sequence[int]) -> dict[int, tuple[int, bool]]:
        """Return the next record of each partition, and whether the group knows that."""
        committed = self._committed(partitions)
        bounds = self.reader.bounds(list(partitions))
        missing = [partition for partition in partitions if committed[partition] is None]
        found = self._never_committed(missing, bounds) if missing else {}
        found |= {one: at for one, at in committed.items() if at is not None}
        for partition, position in found.items():
            self._require_there(partition, position, bounds[partition])
        self._say_what_is_left_out(found, bounds)
        return {one: (found[one], one not in missing) for one in partitions}

    def _never_committed(
        self, partitions: Sequence[int], bounds: dict[int, Bounds]
    ) -> dict[int, int]:
        """Return where partitions go on of which the group knows no position (any more).

        Records are written together with a position. So those of which some are written, and no
        position is known, are forgotten. Others were added, if the group knows any position.
        """
        knows_any = self._knows_any()
        last, whole = self._last_origins()
        for one in partitions:
            was_added = knows_any and one not in last and bounds[one].start == 0
            if not (whole or was_added):
                raise self._forgotten(last)
        return {one: last[one] + 1 if one in last else bounds[one].start for one in partitions}

    def _last_origins(self) -> tuple[dict[int, int], bool]:
        """Return the last record of each partition that is written, and whether nothing is gone."""
        last: dict[int, int] = {}
        with closing(self.client.reader(self.what.topic)) as reader:
            bounds = reader.bounds(list(range(self.what.partitions)))
            for partition, bound in bounds.items():
                for batch in reader.read_range(partition, bound.start, bound.end):
                    for origin in map(origin_of, batch.keys):
                        if origin is not None:
                            home, offset = origin
                            last[home] = max(last.get(home, -1), offset)
        return last, all(bound.start == 0 for bound in bounds.values())

    def _every(self) -> list[int]:
        """Return all partitions of the source."""
        source = self.client.topic(self.what.source)
        return [] if source is None else list(range(source.partitions))

    def _knows_any(self) -> bool:
        committed = self._committed(self._every())
        return any(position is not None for position in committed.values())

    def _committed(self, partitions: Sequence[int]) -> dict[int, int | None]:
        """Ask the group, and say once what that waits for."""
        look = Patience(self._say_what_is_waited_for)

        def meanwhile() -> None:
            if not look.is_over:
                look()

        return self.member.committed(partitions, self.seconds, meanwhile)

    def _say_what_is_waited_for(self) -> None:
        log.warning(
            "consumer group %s: Kafka has not told its positions in topic %s for a second, as "
            "while a transaction of a process that died is open, which Kafka ends by itself; "
            "waiting, for %.0f s at most",
            self.what.group,
            self.what.source,
            self.seconds,
            extra={"topic": self.what.source},
        )

    def _forgotten(self, last: dict[int, int]) -> StartRefused:
        """Report that nobody knows what is written: the newest records may be gone, and older ones
        that went to another partition still be there."""
        from_on = {partition: last.get(partition, -1) + 1 for partition in self._every()}
        return StartRefused(
            f"consumer group {self.what.group} has forgotten its positions in topic "
            f"{self.what.source}, and retention removed records of {self.what.topic}, which alone "
            "tells what is written. Set the position of every partition (kafka-consumer-groups.sh "
            "--reset-offsets --to-offset): records from there on are written, once more if they "
            "were before. Certainly written are those before offset "
            + ", ".join(f"{offset} of partition {one}" for one, offset in from_on.items())
            + "."
        )

    def _require_there(self, partition: int, position: int, bounds: Bounds) -> None:
        if not bounds.start <= position <= bounds.end:
            raise StartRefused(
                f"topic {self.what.source}, partition {partition}: the next record to write by "
                f"user has offset {position}, but the topic now holds offsets {bounds.start} to "
                f"{bounds.end}. Retention removed records that were not read, or the topic was "
                f"truncated. Restore them; or pass them over: set the position of consumer group "
                f"{self.what.group} to {bounds.start} (kafka-consumer-groups.sh --reset-offsets "
                "--to-offset). All budgets stay."
            )

    def _say_what_is_left_out(self, found: dict[int, int], bounds: dict[int, Bounds]) -> None:
        """Say so where the internal topic was made anew, and the group was not."""
        passed = [one for one, position in found.items() if position > bounds[one].start]
        if not passed:
            return
        with closing(self.client.reader(self.what.topic)) as reader:
            written = reader.bounds(list(range(self.what.partitions)))
        if all(bound.end == 0 for bound in written.values()):
            log.warning(
                "topic %s is empty, but consumer group %s stands behind records of topic %s: they "
                "are not written again. If they are to be, stop the pipeline, and delete the group "
                "(kafka-consumer-groups.sh --delete --group)",
                self.what.topic,
                self.what.group,
                self.what.source,
            )
