"""Write releases of symbols as JSON: one, a batch or a set, with a confidence or without."""

import numpy as np
import orjson

from fugu.dataflows.records.symbols import PlainSymbols, SymbolSets
from fugu.operators.mechanism import Kind, Releases
from tests.dataflows.stages.columns import codec

ALPHABET = ["rest", "light", "vigorous"]
KINDS = np.array([Kind.FRESH, Kind.REPEATED])


def releases(values: list[int], confidence: list[float]) -> Releases:
    return Releases(np.array(values, dtype=np.int64), {"confidence": np.array(confidence)})


def test_a_release_is_the_symbol_and_the_rounded_confidence() -> None:
    encoded = codec().encode(releases([2, 0, 1, 1], [0.81579, 1.0, 0.0, 1 / 3]))
    assert encoded == [
        b'{"zone":"vigorous","confidence":0.8158}',
        b'{"zone":"rest","confidence":1.0000}',
        b'{"zone":"light","confidence":0.0000}',
        b'{"zone":"light","confidence":0.3333}',
    ]


def test_where_nothing_is_said_about_the_present_the_confidence_is_null() -> None:
    kinds = np.array([Kind.REPEATED, Kind.FRESH])
    silent = releases([2, 0], [float("nan"), 0.5])
    encoded = codec().encode(Releases(silent.values, silent.annotations, kinds))
    assert encoded == [
        b'{"zone":"vigorous","confidence":null,"repeated":true}',
        b'{"zone":"rest","confidence":0.5000}',
    ]


def test_last_bits_of_the_confidence_never_show() -> None:
    twice = [codec().encode(releases([0], [0.3 + 0.3 + nudge])) for nudge in (0.0, 2.0**-52)]
    assert twice[0] == twice[1]


def test_names_and_symbols_are_escaped() -> None:
    quoted = ['a"b', "a\\b", "\u2028é"]
    [first, second, third] = codec(quoted).encode(releases([0, 1, 2], [0.5, 0.5, 0.5]))
    assert [orjson.loads(line)["zone"] for line in (first, second, third)] == quoted


def test_integers_stay_integers() -> None:
    [encoded] = codec([10, 20]).encode(releases([1], [0.5]))
    assert orjson.loads(encoded) == {"zone": 20, "confidence": 0.5}


def test_a_symbol_stands_alone_and_a_repeated_one_says_so() -> None:
    written = PlainSymbols("zone", ALPHABET).write(Releases(np.array([2, 0]), kinds=KINDS))
    assert written == [b'{"zone":"vigorous"}', b'{"zone":"rest","repeated":true}']


def test_a_set_is_the_list_of_its_symbols_in_the_order_of_the_alphabet() -> None:
    bits = np.array([[False, True, True], [False, False, False]])
    written = SymbolSets("zone", ALPHABET).write(Releases(bits, kinds=KINDS))
    assert written == [b'{"zone":["light","vigorous"]}', b'{"zone":[],"repeated":true}']


def test_sets_keep_integers_and_escape_names() -> None:
    bits = np.array([[True, True]])
    [numbers] = SymbolSets('a "zone"', [10, 20]).write(Releases(bits))
    [quoted] = SymbolSets("zone", ['a"b', "\u2028é"]).write(Releases(bits))
    assert orjson.loads(numbers) == {'a "zone"': [10, 20]}
    assert orjson.loads(quoted) == {"zone": ['a"b', "\u2028é"]}


def test_no_releases_are_no_records() -> None:
    assert codec().encode(releases([], [])) == []
    assert SymbolSets("zone", ALPHABET).write(Releases(np.zeros((0, 3), dtype=bool))) == []
    assert PlainSymbols("zone", ALPHABET).write(Releases(np.zeros(0, dtype=np.int64))) == []
