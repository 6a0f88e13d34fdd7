"""Times far ahead of Kafka's: refused by the record alone, so that no wrong clock moves time."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.base.ticks import StreamTime, Ticks
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.contributions import Contributions
from fugu.dataflows.records.json_fields import FieldTimestamp
from fugu.dataflows.records.symbols import Symbols
from fugu.dataflows.stages.stage import Admission
from fugu.dataflows.stages.summing import Summing
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.columns import IntegerColumn

HOUR, DAY, YEAR = 3_600_000, 86_400_000, 365 * 86_400_000
NOW = 1_763_740_800_000
ZONES = ["north", "south"]
RECORDS = 4_000

Said = tuple[bytes, int, int, str]
"""Key, time in the record, time in Kafka, value."""


def batch(said: Sequence[Said], first: int = 0, *, columns: bool = False) -> Batch:
    offsets = range(first, first + len(said))
    keys: Sequence[bytes | None] = [key for key, *_ in said]
    values: Sequence[bytes | None] = [
        b'{"at": %d, "zone": "%b", "id": %d}' % (at, zone.encode(), place)
        for place, (_, at, _, zone) in enumerate(said)
    ]
    times: Sequence[int] = [written for _, _, written, _ in said]
    if columns:
        keys, values = OptionalByteColumn.of(keys), OptionalByteColumn.of(values)
        times = IntegerColumn(np.array(times))
    return Batch(0, offsets, times, keys, values, [[]] * len(said))


def reading(max_ahead: int | None = HOUR) -> Codec:
    zones = Symbols("zone", ZONES)
    return Codec(zones, 1_000, FieldTimestamp("at", 1), event="id", max_ahead=max_ahead)


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("others", [0, 30])
def test_a_time_far_ahead_of_that_in_kafka_is_as_good_as_none(columns: bool, others: int) -> None:
    """Its value does not matter: it is refused for its times, and nobody hears of these."""
    said: list[Said] = [
        (b"in time", NOW, NOW, "north"),
        (b"at the limit", NOW + HOUR, NOW, "south"),
        (b"ahead", NOW + HOUR + 1, NOW, "north"),
        (b"long ago", NOW - YEAR, NOW, "north"),
        (b"ahead, and no zone", NOW + YEAR, NOW, "nowhere"),
        (b"no zone", NOW, NOW, "nowhere"),
        (b"never written", NOW, -1, "north"),
        *[(b"other", NOW, NOW, "south")] * others,
    ]
    decoded = reading().decode(batch(said, 7, columns=columns))
    accepted = [b"in time", b"at the limit", b"long ago", *[b"other"] * others]
    assert list(decoded.keys) == accepted
    assert list(decoded.offsets) == [7, 8, 10, *range(14, 14 + others)]
    assert len(decoded.values) == len(decoded.timestamps) == len(accepted)
    assert decoded.events is not None
    assert len(decoded.events) == len(accepted)
    assert decoded.refused.keys == [b"no zone"]
    assert decoded.refused.timestamps == [NOW]
    dead = decoded.dead
    found = list(zip(dead.offsets, dead.timestamps, dead.reasons, dead.fields, strict=True))
    assert found == [
        (9, NOW, "too_far_ahead", "at"),
        (11, NOW, "outside_domain", "zone"),
        (12, NOW, "outside_domain", "zone"),
        (13, 0, "too_far_ahead", "at"),
    ]


def test_without_a_limit_any_time_is_taken() -> None:
    said: list[Said] = [(b"ahead", NOW + YEAR, NOW, "north")]
    assert list(reading(None).decode(batch(said)).keys) == [b"ahead"]


BEATS = StreamTime(heartbeats=frozenset([b"beat"]), max_ahead=HOUR)
ALONE = StreamTime(1, max_ahead=HOUR)


def day(wrong: int | None, key: bytes, *, written: int | None = None) -> list[Said]:
    """Two people who send every second, a heartbeat after each, and one wrong clock."""
    said: list[Said] = []
    for second in range(RECORDS):
        at = NOW + 1_000 * second
        said += [(b"beat", at, at + 5, "north"), (b"u%d" % (second % 2), at, at + 5, "north")]
        if second == wrong:
            said.insert(-2, (key, at + YEAR, at + 5 if written is None else at + written, "north"))
    return said


def in_time(said: Sequence[Said], time: StreamTime, *, at_once: int = 1_000) -> int:
    """Return how many records of people get into ticks."""
    ticks = Ticks(width=60_000, grace=5_000, max_jump=100, time=time)
    bounding = Summing(ticks, len(ZONES), Admission("unchecked", 1, 100))
    zones = Contributions(Alphabet("zone", ZONES), None)
    codec = Codec(zones, 1_000, FieldTimestamp("at", 1), max_ahead=time.most_ahead)
    table, refused = RowTable(bounding.start), set[int]()
    for first in range(0, len(said), at_once):
        decoded = codec.decode(batch(said[first : first + at_once], first))
        refused |= set(bounding(decoded, table).dead.offsets)
    people = {place for place, (key, *_) in enumerate(said) if key.startswith(b"u")}
    return len(people - refused)


@pytest.mark.parametrize("at_once", [97, 100_000])
@pytest.mark.parametrize(
    ("time", "key", "wrong"),
    [(ALONE, b"w", 0), (BEATS, b"beat", 0), (BEATS, b"beat", RECORDS // 2)],
    ids=["first record", "first heartbeat", "heartbeat halfway"],
)
def test_one_wrong_clock_poisons_nobody(
    time: StreamTime, key: bytes, wrong: int, at_once: int
) -> None:
    """It left 1, 0 and 1,951 of 4,000 records in time; without a limit, two are late at most."""
    assert in_time(day(None, key), time, at_once=at_once) == RECORDS
    assert in_time(day(wrong, key), time, at_once=at_once) == RECORDS
    unlimited = replace(time, max_ahead=2 * YEAR)
    assert RECORDS - 3 <= in_time(day(wrong, key), unlimited, at_once=at_once) <= RECORDS


def closing_a_tick(ahead: int, written: int) -> list[Said]:
    """The first records are of a clock that is ahead, and goes on: they close a tick there."""
    wrong = [(b"w", NOW + ahead + later, NOW + written, "north") for later in (0, 70_000, 140_000)]
    return [*wrong, *day(None, b"")]


def test_a_clock_that_goes_on_being_wrong_gets_nowhere() -> None:
    assert in_time(closing_a_tick(YEAR, 0), ALONE) == RECORDS


def test_a_clock_that_writes_both_times_is_the_broker_s_to_refuse() -> None:
    """Show what no rule over these records can do: `message.timestamp.after.max.ms` is for that."""
    assert in_time(closing_a_tick(YEAR, YEAR), ALONE) < 2


def test_within_the_limit_a_wrong_clock_counts_and_time_comes_back_to_it() -> None:
    """For 57 minutes the records of everybody are late, and no longer."""
    assert 0 < in_time(closing_a_tick(57 * 60_000, 0), ALONE) <= RECORDS - 56 * 60


def test_old_records_that_are_written_again_are_as_good_as_before() -> None:
    """A topic that is filled from an archive: Kafka's times are later, by any length."""
    said = [(key, at, written + 3 * YEAR, zone) for key, at, written, zone in day(None, b"")]
    assert in_time(said, ALONE) == RECORDS
