"""All that a published record tells becomes numbers."""

import numpy as np

from fugu.dataflows.base.batches import Header, Outgoing
from fugu.dataflows.offline.auditing.records.published import PublishedNumbers
from fugu.dataflows.records.numbers import Numbers
from fugu.dataflows.records.symbols import PlainSymbols, SymbolBatches, Symbols, SymbolSets
from fugu.operators.mechanism import Floats

ZONES = ["rest", "light", "vigorous"]


def rows(numbers: PublishedNumbers, *values: bytes, header: bytes = b"g") -> Floats:
    headers: list[Header] = [("fugu-release", b"id"), ("fugu-guarantee", header)]
    count = len(values)
    out = Outgoing(0, [b"0"] * count, [*values], [headers] * count, [5] * count)
    return numbers.rows(out)


def test_a_symbol_has_time_index_confidence_mark_and_label() -> None:
    numbers = PublishedNumbers(Symbols("zone", ZONES))
    one, same, marked = rows(
        numbers,
        b'{"zone":"light","confidence":0.9}',
        b'{"zone":"light","confidence":0.9}',
        b'{"zone":"light","confidence":null,"repeated":true}',
    )
    assert one[:4].tolist() == [5.0, 1.0, 0.9, 0.0]
    assert one.tolist() == same.tolist()
    assert np.isnan(marked[2])
    assert marked[3] == 1.0
    assert marked[4] != one[4]
    assert numbers.width == 5


def test_lists_have_a_place_for_each_symbol_and_sets_a_bit() -> None:
    lists = PublishedNumbers(SymbolBatches("zone", ZONES), symbols=3)
    [short] = rows(lists, b'{"zone":["light","rest"],"confidence":0.5}')
    assert short[1:3].tolist() == [1.0, 0.0]
    assert np.isnan(short[3])
    sets = PublishedNumbers(SymbolSets("zone", ZONES))
    [some, none] = rows(sets, b'{"zone":["rest","vigorous"]}', b'{"zone":[]}')
    assert some[1:4].tolist() == [1.0, 0.0, 1.0]
    assert none[1:4].tolist() == [0.0, 0.0, 0.0]


def test_numbers_are_themselves() -> None:
    found = rows(PublishedNumbers(Numbers("watts", units_per_one=10)), b'{"watts":-3.5}')
    assert found[0, :2].tolist() == [5.0, -3.5]


def test_a_field_or_a_header_that_does_not_belong_there_tells_records_apart() -> None:
    numbers = PublishedNumbers(PlainSymbols("zone", ZONES))
    [plain] = rows(numbers, b'{"zone":"rest"}')
    [field] = rows(numbers, b'{"zone":"rest","truth":"light"}')
    [header] = rows(numbers, b'{"zone":"rest"}', header=b"other")
    assert len({plain[-1], field[-1], header[-1]}) == 3


def test_what_is_beside_a_number_or_a_set_tells_records_apart() -> None:
    watts = PublishedNumbers(Numbers("watts", units_per_one=10))
    zones = PublishedNumbers(SymbolSets("zone", ZONES))
    for numbers, values in (
        (watts, (b'{"watts":1.0}', b'{"watts":2.0}', b'{"watts":1.0,"truth":2}')),
        (zones, (b'{"zone":[]}', b'{"zone":["rest"]}', b'{"zone":[],"truth":["rest"]}')),
    ):
        one, same, field = rows(numbers, *values)[:, -1]
        [header] = rows(numbers, values[0], header=b"other")[:, -1]
        assert one == same
        assert len({one, field, header}) == 3
