"""An exception that nobody foresaw in reading a record makes a dead letter of that record alone."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random

import pytest

from fugu.dataflows.base.batches import Batch, Decoded, Reason
from fugu.dataflows.base.errors import ConfigurationError, KafkaUnavailable
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.isolation import is_power_of_ten
from fugu.dataflows.records.json_fields import FieldTimestamp, Record
from fugu.dataflows.records.published import origin_key
from fugu.dataflows.records.symbols import Symbols
from fugu.operators import compiled
from tests.dataflows.records.scanned.reading import in_columns, listed
from tests.dataflows.stages.columns import ALPHABET

CANARY = "canary-5d0e"
DEFECT = b'{"zone": "rest", "at": 13}'
"""Reading this time raises an exception, whatever reads it."""
FINE = [b'{"zone": "light", "at": 1}', b'{"zone": "vigorous", "at": 2}', b"no JSON", None]


Raise = Callable[[], BaseException]


@dataclass(frozen=True)
class Unlucky(FieldTimestamp):
    """Reads all times but one."""

    error: Raise = field(default=lambda: ZeroDivisionError(CANARY), kw_only=True)

    def read(self, record: Record) -> int:
        if record.get("at") == 13:
            raise self.error()
        return super().read(record)

    def read_column(self, records: Sequence[Record]) -> list[int]:
        return [self.read(record) for record in records]


def codec(error: Raise = lambda: ZeroDivisionError(CANARY)) -> Codec:
    time = Unlucky("at", 1, error=error)
    return Codec(Symbols("zone", ALPHABET), 1_000, time, topic="vitals.raw")


class UnluckyColumns(Codec):
    """Raises for each batch in which the defect is."""

    def _read(self, batch: Batch) -> Decoded:
        if DEFECT in list(batch.values):
            raise ZeroDivisionError(CANARY)
        return super()._read(batch)


def batch(values: Sequence[bytes | None], first: int = 0) -> Batch:
    offsets = range(first, first + len(values))
    keys = [b"user-%d" % (offset % 5) for offset in offsets]
    return Batch(3, [*offsets], [7 * at for at in offsets], keys, [*values], [[] for _ in values])


def some(seed: int, count: int) -> list[bytes | None]:
    random = Random(seed)
    return [DEFECT if random.random() < 0.05 else random.choice(FINE) for _ in range(count)]


TIMED = UnluckyColumns(Symbols("zone", ALPHABET), 1_000, FieldTimestamp("at", 1))
FORWARDED = UnluckyColumns(Symbols("zone", ALPHABET), 1_000, event="at", forwarded=True)
READERS = [
    pytest.param(codec(), b"[]", False, id="a field of lists"),
    pytest.param(TIMED, b'{"zone": [], "at": 13}', False, id="lists"),
    pytest.param(TIMED, b'{"zone": [], "at": 13}', True, id="columns"),
    pytest.param(FORWARDED, b'{"zone": []}', False, id="forwarded lists"),
    pytest.param(FORWARDED, b'{"zone": []}', True, id="forwarded columns"),
]
"""A codec that fails, a record that is refused with the same presence, and whether in columns."""


@pytest.mark.parametrize(("reading", "instead", "columns"), READERS)
@pytest.mark.parametrize("seed", range(4))
def test_its_neighbours_are_read_as_if_it_were_refused_for_any_other_reason(
    reading: Codec, instead: bytes, columns: bool, seed: int
) -> None:
    if columns and not compiled.available():
        pytest.skip("columns need the extra fast")
    values = some(seed, 700)
    records = batch(values, first=100)
    if reading.forwarded:
        records = replace(records, keys=[origin_key(0, offset) for offset in records.offsets])
    others = replace(records, values=[instead if one == DEFECT else one for one in values])
    if columns:
        records, others = in_columns(records), in_columns(others)
    decoded, expected = reading.decode(records), reading.decode(others)
    known = {place for place, one in enumerate(values) if one == DEFECT}
    assert len(known) > 10
    for place, offset in enumerate(decoded.dead.offsets):
        if offset - 100 in known:
            told = decoded.dead.reasons[place], decoded.dead.fields[place]
            assert told == (Reason.UNREADABLE, "ZeroDivisionError")
            assert expected.dead.reasons[place] is Reason.WRONG_TYPE
            expected.dead.reasons[place], expected.dead.fields[place] = told
    assert listed(decoded) == listed(expected)


@pytest.mark.parametrize("seed", range(4))
def test_how_records_are_cut_into_batches_never_shows(seed: int) -> None:
    values, random = some(seed, 300), Random(seed)
    whole = listed(codec().decode(batch(values)))
    cuts = sorted({0, 300, *random.sample(range(300), 12)})
    pieces = [
        codec().decode(batch(values[begin:end], first=begin)) for begin, end in pairwise(cuts)
    ]
    assert [one for piece in pieces for one in piece.offsets] == whole[1]
    assert [one for piece in pieces for one in piece.values.tolist()] == whole[5]
    assert [one for piece in pieces for one in piece.dead.reasons] == whole[7]["reasons"]  # type: ignore[index]


def test_its_presence_counts_where_user_and_time_can_be_read() -> None:
    reading = UnluckyColumns(Symbols("zone", ALPHABET), 1_000)
    refused = reading.decode(batch([FINE[0], DEFECT], first=6)).refused
    assert (refused.offsets, refused.timestamps, refused.keys) == ([7], [49], [b"user-2"])


def test_a_batch_of_nothing_else_is_all_dead_letters() -> None:
    decoded = codec().decode(batch([DEFECT] * 40))
    assert decoded.dead.reasons == [Reason.UNREADABLE] * 40
    assert len(decoded.offsets) == len(decoded.values) == 0


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        KafkaUnavailable("Kafka is away"),
        ConfigurationError("an extra is missing"),
        ModuleNotFoundError("fastavro"),
        ConnectionResetError(),
        TimeoutError(),
        OSError(28, "No space left on device"),
        KeyboardInterrupt(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_concerns_more_than_a_record_is_raised(error: BaseException) -> None:
    with pytest.raises(type(error)):
        codec(lambda: error).decode(batch([*FINE, DEFECT]))


@pytest.mark.parametrize("error", [FileExistsError(17, "x"), RecursionError(), AssertionError()])
def test_all_else_may_be_due_to_a_record(error: Exception) -> None:
    decoded = codec(lambda: error).decode(batch([*FINE, DEFECT]))
    assert decoded.dead.reasons[-1] is Reason.UNREADABLE
    assert decoded.dead.fields[-1] == type(error).__name__


def test_the_log_names_place_and_class_now_and_then_and_no_value(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reading = replace(codec(), topic="a topic of this test")
    with caplog.at_level(logging.INFO):
        reading.decode(batch([FINE[0]] * 3 + [DEFECT] * 120, first=1_000))
    lines = [one.getMessage() for one in caplog.records]
    assert len(lines) == 3
    assert lines[0].startswith(
        "topic a topic of this test, partition 3, offset 1003: reading raises ZeroDivisionError at "
    )
    assert "test_isolation.py:" in lines[0]
    assert [one.__dict__["offset"] for one in caplog.records] == [1003, 1012, 1102]
    assert CANARY not in caplog.text
    assert "user-" not in caplog.text


def test_a_batch_that_is_read_in_parts_is_said(caplog: pytest.LogCaptureFixture) -> None:
    class AtMostFour(Codec):
        def _read(self, batch: Batch) -> Decoded:
            if len(batch.offsets) > 4:
                raise ZeroDivisionError(CANARY)
            return super()._read(batch)

    values = some(1, 30)
    decoded = AtMostFour(Symbols("zone", ALPHABET), 1_000, topic="parts").decode(batch(values))
    assert listed(decoded) == listed(Codec(Symbols("zone", ALPHABET), 1_000).decode(batch(values)))
    [line] = [one.getMessage() for one in caplog.records]
    assert line.startswith("topic parts, partition 3, offset 0: reading raises ZeroDivisionError")
    assert CANARY not in line


def test_counts_that_are_said() -> None:
    assert [count for count in range(1_001) if is_power_of_ten(count)] == [1, 10, 100, 1_000]


def test_a_user_that_cannot_be_read_stops_no_forwarding() -> None:
    class Unreadable(Codec):
        def key_of(self, content: bytes | None, headers: object) -> bytes | None:
            if content == DEFECT:
                raise ZeroDivisionError(CANARY)
            return b"ann"

    reading = Unreadable(Symbols("zone", ALPHABET), 1_000, key="user")
    assert reading.keys_of(batch([FINE[0], DEFECT, FINE[1]])) == [b"ann", None, b"ann"]
