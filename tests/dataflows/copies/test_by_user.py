"""What is written of a record of the source, and where; without Kafka."""

import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import cast

import pytest

from fugu.dataflows.base.batches import Batch, Header, Reason
from fugu.dataflows.copies.by_user import ByUser
from fugu.dataflows.copies.by_user_positions import Positions
from fugu.dataflows.kafka.client import Bounds, CopyClient, GroupMember, Reader
from fugu.dataflows.kafka.partitioner import partition_of
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.envelopes import CloudEvents
from fugu.dataflows.records.symbols import Symbols

PARTITIONS = 4
CODEC = Codec(Symbols("zone", ["rest", "light"]), 200, key="user", forwarded=True)
NOTHING: Sequence[Header] = ()


def by_user(codec: Codec = CODEC) -> ByUser:
    return ByUser("zones", "raw", "zones.by-user", PARTITIONS, codec, 100, 0.2)


def batch_of(
    values: Sequence[bytes | None],
    keys: Sequence[bytes | None] | None = None,
    headers: Sequence[Header] = NOTHING,
) -> Batch:
    count = len(values)
    return Batch(
        6,
        list(range(10, 10 + count)),
        [-1, *range(1, count)],
        [b"ignored"] * count if keys is None else keys,
        values,
        [[*headers] for _ in values],
    )


def test_each_record_goes_to_the_partition_of_its_user_in_order() -> None:
    users = ["anna", "ben", "anna", "carl", "ben", "dora"]
    values = [b'{"zone":"rest","user":"%s"}' % user.encode() for user in users]
    written = {one.partition: one for one in by_user().outgoing(batch_of(values))}
    for home, outgoing in written.items():
        own = [n for n, user in enumerate(users) if partition_of(user.encode(), PARTITIONS) == home]
        assert list(outgoing.keys) == [b"6/%d" % (10 + place) for place in own]
        assert list(outgoing.values) == [values[place] for place in own]
        assert list(outgoing.timestamps) == [max(-1 if n == 0 else n, 0) for n in own]
    assert sum(len(one.values) for one in written.values()) == len(users)


@pytest.mark.parametrize("value", [None, b"", b"canary", b"{}", b'{"user":null}', b'{"user":[]}'])
def test_what_has_no_user_goes_along_and_is_refused_there(value: bytes | None) -> None:
    [outgoing] = by_user().outgoing(batch_of([value]))
    assert outgoing.partition == 6 % PARTITIONS
    assert list(outgoing.values) == [value]
    [key] = outgoing.keys
    decoded = CODEC.decode(batch_of([value], [key]))
    assert len(decoded.dead.offsets) == 1
    assert decoded.dead.reasons != [Reason.NOT_FORWARDED]


def test_what_is_too_large_is_written_in_no_more_bytes_than_are_refused() -> None:
    large = b'{"user":"anna","much":"%s"}' % (b"x" * 5_000)
    [outgoing] = by_user().outgoing(batch_of([large]))
    assert [len(value or b"") for value in outgoing.values] == [201]
    decoded = CODEC.decode(batch_of(list(outgoing.values), list(outgoing.keys)))
    assert decoded.dead.reasons == [Reason.TOO_LARGE]


def test_headers_go_along_only_where_they_are_read() -> None:
    value = b'{"zone":"rest","user":"anna"}'
    said: list[Header] = [("ce_id", b"1"), ("note", None)]  # type: ignore[list-item]
    [plain] = by_user().outgoing(batch_of([value], headers=said))
    assert list(plain.headers) == [[]]
    events = Codec(CODEC.domain, 200, envelope=CloudEvents(), key="data.user", forwarded=True)
    [event] = by_user(events).outgoing(batch_of([value], headers=said))
    assert list(event.headers) == [[("ce_id", b"1")]], "a header without a value says nothing"
    [large] = by_user(events).outgoing(batch_of([value], headers=[("ce_id", b"x" * 2_000_000)]))
    assert (len(large.values[0] or b""), list(large.headers)) == (201, [[]])


def test_records_of_other_writers_are_refused_and_move_no_time() -> None:
    good, bad = b'{"zone":"rest","user":"anna"}', b'{"zone":"canary","user":"anna"}'
    keys = [b"0/1", None, b"anna", b"0/2", b"00/3", b"0/-1", b"0/99999999999999999999"]
    decoded = CODEC.decode(batch_of([good, good, bad, bad, good, good, good], keys))
    assert list(decoded.offsets) == [10]
    assert list(zip(decoded.dead.offsets, decoded.dead.reasons, strict=True)) == [
        (11, Reason.NOT_FORWARDED),
        (12, Reason.NOT_FORWARDED),
        (13, Reason.OUTSIDE_DOMAIN),
        (14, Reason.NOT_FORWARDED),
        (15, Reason.NOT_FORWARDED),
        (16, Reason.NOT_FORWARDED),
    ]
    assert decoded.refused.offsets == [13]


class Slow:
    """A member of a group that is not told positions at once."""

    def committed(
        self, partitions: Sequence[int], seconds: float, meanwhile: Callable[[], object]
    ) -> dict[int, int | None]:
        for _ in range(4):
            meanwhile()
            time.sleep(0.6)
        return dict.fromkeys(partitions, 7)


class Ten:
    """Reads a topic with ten records in every partition."""

    def bounds(self, partitions: list[int]) -> dict[int, Bounds]:
        return dict.fromkeys(partitions, Bounds(0, 10))

    def close(self) -> None:
        """Close nothing."""


@pytest.mark.slow
def test_waiting_for_positions_is_said_once_and_until_when(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client = cast(CopyClient, SimpleNamespace(reader=lambda topic: Ten()))
    reader, member = cast(Reader, Ten()), cast(GroupMember, Slow())
    positions = Positions(by_user(), client, reader, member, 70.0)
    assert positions.of([3]) == {3: (7, True)}
    said = [one for one in caplog.messages if "positions" in one]
    assert len(said) == 1
    assert "consumer group fugu.zones.by-user" in said[0]
    assert "topic raw" in said[0]
    assert "for 70 s at most" in said[0]
