"""Which streams appear in the ledger, and when: each tenth of a budget once, and the end."""

from fugu.dataflows.stages.per_record import row_columns
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.budget import Budgeted
from fugu.operators.mechanism import AT_THE_END
from tests.dataflows.stages.columns import CRR, batch_of, codec, lift

RECORDS = [(b"alice", b'{"zone": "light"}'), (b"bob", b'{"zone": "rest"}')] * 20


def levels_of(mechanism: Budgeted, *, batch_size: int) -> list[tuple[int, bytes, int]]:
    """Offset, key and level of everything that is reported."""
    table = RowTable(row_columns(mechanism, None), mechanism)
    sanitize = lift(mechanism=mechanism)
    reported = []
    for start in range(0, len(RECORDS), batch_size):
        batch = batch_of(RECORDS[start : start + batch_size], first_offset=start)
        spending = sanitize(codec().decode(batch), table).spending
        assert spending.timestamps == [1000 + offset for offset in spending.offsets]
        reported += list(zip(spending.offsets, spending.keys, spending.levels, strict=True))
    return reported


def test_every_tenth_is_reported_once_with_the_record_that_spent_it() -> None:
    reported = levels_of(Budgeted(CRR, total=10.0), batch_size=100)
    for key in (b"alice", b"bob"):
        levels = [level for _, of, level in reported if of == key]
        assert levels == sorted(set(levels))
        assert levels[-1] == AT_THE_END
        assert len(levels) > 5
    assert [offset for offset, _, _ in reported] == sorted(offset for offset, _, _ in reported)


def test_batches_of_any_size_report_the_same() -> None:
    whole = levels_of(Budgeted(CRR, total=10.0), batch_size=100)
    assert all(levels_of(Budgeted(CRR, total=10.0), batch_size=size) == whole for size in (1, 3, 7))


def test_with_a_window_nothing_is_reported() -> None:
    assert levels_of(Budgeted(CRR, total=2.0, window=3), batch_size=100) == []
