"""Hold one partition that the consumer group has given to this copy."""

from dataclasses import dataclass
from typing import Any, Generic

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.copies.accounts import Account
from fugu.dataflows.kafka.client import Entry
from fugu.dataflows.state.changelog import Chain, Progress
from fugu.dataflows.state.row_log import Table
from fugu.dataflows.state.state_topic import FINGERPRINT


@dataclass(eq=False)
class Owned(Generic[Table]):
    """Hold table, chain and accounts of a partition, all as of one moment.

    `position` is the next source offset that is not in the table, and `epoch` the leader epoch of
    the record before it, where that is known. `end` is where the next record in the partition of
    the state is expected, behind so many `marks` of this copy; the partition begins with its
    `fingerprint`. A partition that was just taken over
    is `touched`, so that a block names its owner at once. With the last block before it is given
    up, it has `left`.
    """

    partition: int
    table: Table
    chain: Chain
    accounts: list[Account]
    position: int
    end: int
    fingerprint: bytes
    touched: bool = True
    finished: bool = False
    left: bool = False
    epoch: int | None = None
    marks: int = 0
    _renewed: bool = False

    def renew(self) -> None:
        """Let the next records hold all that the topic has to hold of the partition.

        Somebody else has used keys of records that count, which Kafka removes some day.
        """
        self.chain.renew()
        self.touched = self._renewed = True

    def records(self, instance: str, epoch: int) -> list[Entry]:
        """Return the records of the next block."""
        block = self.chain.append(self.table, self.progress(instance, epoch))
        again = [(FINGERPRINT, self.fingerprint)] if self._renewed else []
        self._renewed = False
        return [*again, *block]

    def progress(self, instance: str, epoch: int) -> Progress:
        """Return what the next block says besides its rows."""
        return Progress(
            position=self.position,
            ends={one.topic: {str(one.partition): one.begin} for one in self.accounts},
            published={one.topic: one.published for one in self.accounts},
            instance=instance,
            epoch=epoch,
            finished=self.finished,
            left=self.left,
        )


@dataclass(frozen=True)
class Taken:
    """Hold a batch, and the partition whose table it changes."""

    owned: Owned[Any]
    batch: Batch
