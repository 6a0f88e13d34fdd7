"""A record that a producer sent twice is a dead letter, and its stream is charged once."""

from functools import cached_property

import numpy as np
import pytest

from fugu.dataflows.base.batches import Reason, Sanitized
from fugu.dataflows.records.deduplication import Deduplication, event_digest
from fugu.dataflows.stages.per_record import PerRecord, row_columns
from fugu.dataflows.state.row_table import RowTable
from fugu.operators import compiled
from fugu.operators.budget import Budgeted
from fugu.operators.mechanism import Kind
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from tests.dataflows.stages.columns import (
    ALPHABET,
    CRR,
    EVERYBODY,
    SCOPE,
    SOURCE,
    Message,
    batch_of,
    codec,
    lift,
)

DEDUPE = Deduplication(remember=3)


def record(key: bytes, event: object) -> Message:
    return key, b'{"zone": "rest", "id": %s}' % repr(event).replace("'", '"').encode()


def run(records: list[Message], *, batch_size: int = 100) -> tuple[list[Sanitized], RowTable]:
    table = RowTable(row_columns(CRR, DEDUPE))
    reading, lifted = codec(event="id"), lift(deduplication=DEDUPE)
    batches = [
        lifted(reading.decode(batch_of(records[at : at + batch_size], first_offset=at)), table)
        for at in range(0, len(records), batch_size)
    ]
    return batches, table


def test_a_repeated_event_is_refused_once_per_stream() -> None:
    records = [record(b"a", 1), record(b"b", 1), record(b"a", 1), record(b"a", 2)]
    (sanitized,), table = run(records)
    assert sanitized.offsets == [0, 1, 3]
    assert sanitized.dead.offsets == [2]
    assert sanitized.dead.reasons == [Reason.DUPLICATE]
    assert table.gather(table.rows_of([b"a", b"b"]))["releases"].tolist() == [2, 1]


def test_batches_of_any_size_give_the_same() -> None:
    records = [record(b"%d" % (n % 3), n % 5) for n in range(60)]
    _, whole = run(records)
    for batch_size in (1, 7):
        _, cut = run(records, batch_size=batch_size)
        assert cut.take_everything() == whole.take_everything()
        whole = run(records)[1]


@pytest.mark.parametrize("batch_size", [1, 5, 7, 90])
@pytest.mark.parametrize("seed", range(3))
def test_streams_that_end_among_duplicates_end_the_same(seed: int, batch_size: int) -> None:
    """Before its end a stream refuses duplicates; after it nobody looks, and it repeats itself."""
    rng = np.random.default_rng(seed)
    budgeted = Budgeted(CRR, total=4.0)
    records = [
        record(b"%d" % user, event)
        for user, event in zip(rng.integers(4, size=90), rng.integers(6, size=90), strict=True)
    ]

    def outcome(size: int) -> list[object]:
        table = RowTable(row_columns(budgeted, DEDUPE), budgeted)
        reading = codec(event="id")
        lifted = lift(mechanism=budgeted, deduplication=DEDUPE)
        out = []
        for at in range(0, len(records), size):
            batch = batch_of(records[at : at + size], first_offset=at)
            one = lifted(reading.decode(batch), table)
            assert one.releases.kinds is not None
            values, kinds = one.releases.values.tolist(), one.releases.kinds.tolist()
            spent = zip(one.spending.offsets, one.spending.levels, strict=True)
            out += [*zip(one.offsets, values, kinds, strict=True), *spent]
            out += [(offset, "dead") for offset in one.dead.offsets]
        return [sorted(out, key=repr), table.take_everything()]

    assert outcome(batch_size) == outcome(30)
    assert "dead" in repr(outcome(30)[0])
    assert str(int(Kind.REPEATED)) in repr(outcome(30)[0])


def test_the_ledger_names_whose_records_were_released_beside_duplicates() -> None:
    budgeted = Budgeted(GeneralizedRandomizedResponse(len(ALPHABET), epsilon=1.0), total=4.0)
    records = [record(key, 1) for key in (b"ann", b"ann", b"bob", b"bob", b"cyd", b"dan")]
    for stage in (PerRecord, InRounds):
        table = RowTable(row_columns(budgeted, DEDUPE), budgeted)
        made = stage(budgeted, SCOPE, SOURCE, EVERYBODY, DEDUPE)(
            codec(event="id").decode(batch_of(records)), table
        )
        spending = made.spending
        assert [*spending.keys] == [b"ann", b"bob", b"cyd", b"dan"]
        assert [*spending.offsets] == [0, 2, 4, 5]
        assert [*spending.timestamps] == [1000, 1002, 1004, 1005]
        assert [*spending.levels] == [2, 2, 2, 2]


class InRounds(PerRecord):
    """Take no batch in one call."""

    @cached_property
    def _running(self) -> None:
        return None


def test_events_beyond_the_memory_are_forgotten() -> None:
    (sanitized,), _ = run([record(b"a", n) for n in (1, 2, 3, 4, 1)])
    assert sanitized.dead.offsets == []


def test_text_and_numbers_are_different_events() -> None:
    assert event_digest(1) != event_digest("1")
    (sanitized,), _ = run([record(b"a", 1), record(b"a", "1")])
    assert sanitized.dead.offsets == []


def test_a_record_without_an_event_id_is_refused() -> None:
    (sanitized,), _ = run([(b"a", b'{"zone": "rest"}'), record(b"a", 1.5)])
    assert sanitized.dead.reasons == [Reason.FIELD_MISSING, Reason.WRONG_TYPE]
    assert sanitized.dead.fields == ["id", "id"]


@pytest.mark.skipif(not compiled.available(), reason="needs the extra fast")
def test_a_stage_that_knows_events_is_warmed_up() -> None:
    stage = lift(deduplication=DEDUPE)
    made = stage.warm_up(np.zeros(40, dtype=np.int64))
    assert made is not None
    assert len(made.keys) == 40
