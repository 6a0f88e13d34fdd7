"""Go on behind marks of transactions, which retention removes with the records."""

from collections.abc import Iterator, Mapping

import pytest

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.metrics import Metrics
from fugu.dataflows.kafka.client import Bounds, Reader
from fugu.dataflows.kafka.source import GatedSource, KafkaSource, StopFlag


class Marked(Reader):
    """Two records from offset 5 on, and a mark behind them."""

    def __init__(self) -> None:
        self.due = [Batch(0, [5, 6], [0, 0], [b"a", b"b"], [b"1", b"2"], [[], []])]
        self.at: int | None = None

    def assign(self, offsets: Mapping[int, int], epochs: Mapping[int, int] | None = None) -> None:
        self.at = offsets[0]

    def poll(self, max_records: int) -> list[Batch]:
        self.at = 7 if self.due else 8
        batches, self.due = self.due, []
        return batches

    def bounds(self, partitions: list[int]) -> dict[int, Bounds]:
        return dict.fromkeys(partitions, Bounds(5, 8))

    def position(self, partition: int) -> int | None:
        return self.at

    def read_range(self, partition: int, start: int, end: int) -> Iterator[Batch]:
        raise NotImplementedError

    def close(self) -> None: ...


@pytest.fixture
def looks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fugu.dataflows.kafka.source.SharedReader._may_look", lambda _: True)


@pytest.mark.usefixtures("looks_at_once")
def test_a_snapshot_stands_behind_the_mark_of_what_was_emitted() -> None:
    source = KafkaSource("topic", {0: 5}, Marked(), 100, StopFlag(), Metrics())
    part = source.build_part("source", "000000", None)
    assert part.snapshot() == 5
    assert len(part.next_batch()) == 1
    assert part.snapshot() == 7
    assert part.next_batch() == []
    assert part.snapshot() == 8


@pytest.mark.usefixtures("looks_at_once")
def test_it_passes_no_mark_while_the_state_lacks_what_was_emitted() -> None:
    taken_in: dict[int, int] = {}
    source = GatedSource(
        "topic", {0: 5}, Marked(), 100, StopFlag(), Metrics(), lambda _: False, taken_in
    )
    part = source.build_part("source", "000000", None)
    assert len(part.next_batch()) == 1
    assert part.next_batch() == []
    assert part.snapshot() == 5
    taken_in[0] = 7
    assert part.snapshot() == 8
