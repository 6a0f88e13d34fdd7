"""Records that stand behind all others: never before those are acknowledged, and never taken for
what a replay awaits."""

from typing import Any, cast

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.kafka.client import Client, Writer
from fugu.dataflows.kafka.sink import KafkaSink, KafkaSinkPart, Published, Shared


class Noting(Writer):
    """Note what is asked of it, in order."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def write(self, topic: str, outgoing: Outgoing) -> None:
        self.calls.append(outgoing.values)

    def flush(self) -> None:
        self.calls.append("flush")

    def acknowledged_end(self, topic: str, partition: int) -> int | None:
        return None

    def close(self) -> None: ...


def test_a_mark_follows_acknowledged_records_and_awaits_nothing() -> None:
    writer, shared = Noting(), Shared(1, lambda part, key: key == b"own")
    nobody = cast(Client, None)
    sink = KafkaSink(nobody, writer, "log", {0: 0}, lambda part, offsets: [], shared=shared)
    awaited = {b"id": Published(3, b"digest", 0)}
    part = KafkaSinkPart(sink, writer, 0, 0, 9, dict(awaited))
    plain = Outgoing(0, [b"own"], [b"change"], [[]], [0], [1])
    mark = Outgoing(0, [b"covered"], [b"mark"], [[]], [0], behind_all=True)
    part.published.clear()
    part.write_batch([plain])
    part.published |= awaited
    part.write_batch([mark])
    assert writer.calls == [[b"change"], "flush", [b"mark"]]
    assert part.published == awaited
    assert part.snapshot() == 3
