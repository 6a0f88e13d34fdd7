"""Symbols and sets of symbols as JSON, without a confidence."""

import numpy as np
import orjson

from fugu.dataflows.records.symbols import PlainSymbols, SymbolSets
from fugu.operators.mechanism import Kind, Releases

ALPHABET = ["rest", "light", "vigorous"]
KINDS = np.array([Kind.FRESH, Kind.REPEATED])


def test_a_symbol_stands_alone_and_a_repeated_one_says_so() -> None:
    written = PlainSymbols("zone", ALPHABET).write(Releases(np.array([2, 0]), kinds=KINDS))
    assert written == [b'{"zone":"vigorous"}', b'{"zone":"rest","repeated":true}']


def test_a_set_is_the_list_of_its_symbols_in_the_order_of_the_alphabet() -> None:
    bits = np.array([[False, True, True], [False, False, False]])
    written = SymbolSets("zone", ALPHABET).write(Releases(bits, kinds=KINDS))
    assert written == [b'{"zone":["light","vigorous"]}', b'{"zone":[],"repeated":true}']


def test_integers_stay_integers_and_names_are_escaped() -> None:
    bits = np.array([[True, True]])
    [numbers] = SymbolSets('a "zone"', [10, 20]).write(Releases(bits))
    [quoted] = SymbolSets("zone", ['a"b', "\u2028é"]).write(Releases(bits))
    assert orjson.loads(numbers) == {'a "zone"': [10, 20]}
    assert orjson.loads(quoted) == {"zone": ['a"b', "\u2028é"]}


def test_no_releases_are_no_records() -> None:
    assert SymbolSets("zone", ALPHABET).write(Releases(np.zeros((0, 3), dtype=bool))) == []
    assert PlainSymbols("zone", ALPHABET).write(Releases(np.zeros(0, dtype=np.int64))) == []
