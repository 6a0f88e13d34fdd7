"""Read dead letters back, and believe those that this pipeline has written."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import orjson

from fugu.dataflows.base.batches import Batch, Reason
from fugu.dataflows.flows.plan import Plan
from fugu.dataflows.publishing.envelope import FORWARDED
from fugu.dataflows.records.published import release_id_of
from fugu.operators.mechanism import Integers


@dataclass(frozen=True)
class Choice:
    """Say which dead letters are chosen: one reason, and times of records in milliseconds.

    Those `at_home` are of records that stand where their keys have their rows now.
    """

    reason: Reason
    since: int | None = None
    until: int | None = None
    at_home: bool = False

    def takes(self, reason: object, timestamp: int) -> bool:
        """Return whether a dead letter is chosen."""
        return (
            reason == self.reason
            and (self.since is None or timestamp >= self.since)
            and (self.until is None or timestamp < self.until)
        )


def chosen_letters(plan: Plan, choice: Choice, batch: Batch) -> set[tuple[int, bytes | None]]:
    """Return the offsets that chosen dead letters tell, and the names of these dead letters."""
    found: set[tuple[int, bytes | None]] = set()
    for _, timestamp, _, value, headers in batch.records():
        try:
            letter = orjson.loads(value or b"null")
        except orjson.JSONDecodeError:
            continue
        if not isinstance(letter, dict) or not choice.takes(letter.get("reason"), timestamp):
            continue
        topic, partition, offset = _place(plan, batch.partition, letter)
        place = topic, partition
        if place == (plan.publisher.source_topic, batch.partition) and type(offset) is int:
            found.add((offset, release_id_of(headers)))
    return found


def _place(plan: Plan, partition: int, letter: dict[str, object]) -> tuple[object, object, object]:
    """Return the coordinates that a pipeline reads a record at; its letter names the original."""
    if plan.publisher.origins is not None and FORWARDED in letter:
        return plan.publisher.source_topic, partition, letter[FORWARDED]
    return letter.get("topic"), letter.get("partition"), letter.get("offset")


def genuine(plan: Plan, partition: int, named: Collection[tuple[int, bytes | None]]) -> Integers:
    """Return the offsets whose dead letters this pipeline has named, in order."""
    offsets = sorted({offset for offset, _ in named if 0 <= offset < 2**63})
    names = plan.publisher.dead_letter_ids(partition, offsets)
    genuine = [pair[0] for pair in zip(offsets, names, strict=True) if pair in named]
    return np.array(genuine, dtype=np.int64)
