"""Check who may have a row, once, when a key is seen for the first time.

One user is one stream only if all records of a user meet in one partition, so the partition of a
new key is computed again. And a table must not grow without bound, although no row is dropped while
its budget still counts: beyond `max_keys` a new key is refused, and everybody known goes on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.kafka.partitioner import Partitioner, partitions_of
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.column import selected

NEARLY_ALL = 0.9
"""The share of the rows from which on an operator is told that they run out."""


@dataclass(frozen=True)
class Admission:
    """Admit keys that belong to a partition of a topic with so many `partitions`, up to `max_keys`
    rows of one partition. Where policies are for some keys only, `covers` knows them. Of some keys
    nobody knows what they have spent: `are_strangers` tells them, if there are any."""

    partitioner: Partitioner
    partitions: int
    max_keys: int
    covers: Callable[[bytes], bool] = lambda key: True
    are_strangers: Callable[[Sequence[bytes]], Sequence[bool]] | None = None

    def refusals(self, table: RowTable, partition: int, keys: Sequence[bytes]) -> dict[int, Reason]:
        """Return index and reason of every record that is not admitted, in order."""
        refused: dict[int, Reason] = {}
        room = self.max_keys - len(table)
        admitted: set[bytes] = set()
        unknown = table.unknown(keys)
        new = selected(keys, unknown)
        belong, strange = self._belong(new, partition), self._strange(new)
        for index, key, belongs, is_strange in zip(unknown, new, belong, strange, strict=True):
            if key in admitted:
                continue
            reason = self._refusal(key, belongs, is_strange)
            if reason is not None:
                refused[index] = reason
            elif len(admitted) >= room:
                refused[index] = Reason.TOO_MANY_KEYS
            else:
                admitted.add(key)
        return refused

    def refusal(self, partition: int, key: bytes) -> Reason | None:
        """Return why a new key may have no row, however many there are."""
        return self._refusal(key, self._belong([key], partition)[0], self._strange([key])[0])

    def _refusal(self, key: bytes, belongs: bool, is_strange: bool) -> Reason | None:
        if not belongs:
            return Reason.WRONG_PARTITION
        if is_strange:
            return Reason.UNKNOWN_BUDGET
        return None if self.covers(key) else Reason.NO_COLLECTION

    def _strange(self, keys: Sequence[bytes]) -> Sequence[bool]:
        return [False] * len(keys) if self.are_strangers is None else self.are_strangers(keys)

    def _belong(self, keys: Sequence[bytes], partition: int) -> list[bool]:
        """Return which keys producers send to a partition."""
        if self.partitioner == "unchecked" or not len(keys):
            return [True] * len(keys)
        here = partitions_of(keys, self.partitions, self.partitioner) == partition
        belong: list[bool] = here.tolist()
        return belong
