"""The source is looked at soon after records came, and seldom while none come."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.kafka.client import Bounds, Reader
from fugu.dataflows.kafka.source import SharedReader

SOON, SELDOM = timedelta(milliseconds=5), timedelta(milliseconds=20)


class Lists(Reader):
    """Polls return what a test puts in."""

    def __init__(self) -> None:
        self.polled: list[list[Batch]] = []
        self.polls = 0

    def assign(
        self, offsets: Mapping[int, int], epochs: Mapping[int, int] | None = None
    ) -> None: ...

    def poll(self, max_records: int) -> list[Batch]:
        self.polls += 1
        return self.polled.pop(0) if self.polled else []

    def bounds(self, partitions: list[int]) -> dict[int, Bounds]:
        return {}

    def position(self, partition: int) -> int | None:
        return None

    def read_range(self, partition: int, start: int, end: int) -> Iterator[Batch]:
        return iter([])

    def close(self) -> None: ...


def shared(*polled: list[Batch]) -> tuple[SharedReader, Lists]:
    """Two partitions, and polls that return at most 40 records."""
    reader = Lists()
    reader.polled += polled
    shared = SharedReader(reader, max_batch=40)
    shared.add(0, 0)
    shared.add(1, 0)
    return shared, reader


def batch(partition: int, records: int) -> Batch:
    empty = [b""] * records
    return Batch(partition, range(records), [0] * records, empty, empty, [[]] * records)


def look(shared: SharedReader, partition: int) -> datetime | None:
    """Ask for the next batch; when to ask again."""
    found = shared.next_batch(partition) is not None
    return shared.pause_of(partition, found=found)


def test_one_poll_serves_all_parts_until_the_next_look() -> None:
    reader, lists = shared([batch(0, 1), batch(1, 1)])
    first, second = look(reader, 0), look(reader, 1)
    assert lists.polls == 1
    assert first is not None
    assert first == second, "parts that wake at different times would wake the dataflow for each"
    assert first - datetime.now(UTC) < SOON
    look(reader, 0)
    assert lists.polls == 1, "it was looked at just now"
    reader.next_look = datetime.now(UTC)
    look(reader, 0)
    assert lists.polls == 2


def test_who_is_behind_is_asked_at_once() -> None:
    reader, lists = shared([batch(0, 20), batch(1, 20)], [batch(0, 1)])
    assert look(reader, 0) is None
    assert look(reader, 1) is None
    assert look(reader, 0) is not None, "that was all"
    assert lists.polls == 2


def test_what_is_there_already_waits_for_nothing() -> None:
    reader, lists = shared([batch(0, 1), batch(0, 1)])
    assert look(reader, 0) is None
    assert look(reader, 0) is not None
    assert lists.polls == 1


def test_silence_makes_pauses_longer_up_to_a_limit() -> None:
    reader, _ = shared([batch(0, 1)])
    look(reader, 0)
    pauses = []
    for silence in (0, 100, 10_000):
        now = datetime.now(UTC)
        reader._arrived = now - timedelta(milliseconds=silence)
        reader.next_look = now
        look(reader, 0)
        pauses.append(reader.next_look - now)
    assert pauses[0] < pauses[1] < SELDOM <= pauses[2] < SELDOM + SOON
