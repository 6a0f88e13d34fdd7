"""Records that are read together come out as if each had been read by itself."""

import json
from collections.abc import Sequence
from dataclasses import astuple, replace
from operator import add
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fugu.dataflows.base.batches import Batch, Decoded
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.contributions import Contributions, SetContributions, YesOrNo
from fugu.dataflows.records.json_fields import FieldTimestamp, Record
from fugu.dataflows.records.list_decoding import READ_TOGETHER
from fugu.dataflows.records.numbers import Numbers
from fugu.dataflows.records.payloads import Payloads
from fugu.dataflows.records.symbols import Symbols
from fugu.dataflows.records.values import Values
from tests.dataflows.records.bad_records import GOOD, REFUSED
from tests.dataflows.stages.columns import ALPHABET, Message, batch_of, codec
from tests.thinned import first_in_test

ZONES = Alphabet("zone", ALPHABET)
DOMAINS: list[Values] = [
    Symbols("zone", ALPHABET),
    Symbols("zone", ALPHABET, other="light"),
    Symbols("zone", [0, 1, 2]),
    Numbers("zone", units_per_one=1),
    Numbers("zone", units_per_one=100),
    Numbers("zone", units_per_one=10**15),
    Payloads(["zone"], null="as_none"),
    Payloads(["zone", "x"], null="error"),
    Contributions(ZONES, None),
    Contributions(None, Numbers("x", units_per_one=8), lower=-5, upper=50),
    Contributions(ZONES, Numbers("x", units_per_one=8), lower=0, upper=9),
    Contributions(None, YesOrNo("x")),
    SetContributions(ZONES),
]
CODECS = [
    Codec(domain, 400, timestamp, event, exact)
    for domain in DOMAINS
    for timestamp, event, exact in [
        (None, None, ()),
        (FieldTimestamp("at", 1000), None, ("zone",)),
        (None, "at", ("zone", "x")),
    ]
]
REFUSED_BY_ALL: tuple[list[object], ...] = ([10_000], [1000], [b"eve"], [b"no JSON"], [[]])

numbers = st.sampled_from(
    [-3, -0.0, 0.005, 0.5, -0.5, 1.005, 2, 2.0**42, 2**61, 2**64, 2**70, 1e300, 253402300800]
)
scalars = st.one_of(
    st.sampled_from([*ALPHABET, "unheard of", None, True, False]),
    numbers,
    st.integers(-1, 3),
    st.floats(),
    st.text(max_size=2),
)
contents = scalars | st.lists(scalars, max_size=2) | st.dictionaries(st.text(max_size=1), scalars)
records = st.fixed_dictionaries({}, optional=dict.fromkeys(["zone", "x", "at"], contents))
texts = records.map(lambda record: json.dumps(record).encode("utf-8", "surrogatepass"))


def plain(zones: st.SearchStrategy[object]) -> st.SearchStrategy[bytes]:
    """Values that nobody refuses who reads such zones."""
    amounts = st.floats(-99, 99) | numbers
    return st.fixed_dictionaries({"zone": zones, "x": amounts, "at": st.just(7)}).map(
        lambda record: json.dumps(record).encode()
    )


accepted = st.one_of(
    plain(st.sampled_from(ALPHABET)), plain(st.integers(0, 2)), plain(st.floats(-1e12, 1e12))
)
messages = st.tuples(st.just(b"bob"), accepted) | st.tuples(
    st.sampled_from([b"ann", b"", None]),
    texts | st.sampled_from([content for (_, content), *_ in REFUSED.values()]),
)


def columns(decoded: Decoded) -> list[list[object]]:
    events = decoded.events or []
    accepted = [decoded.offsets, decoded.timestamps, decoded.keys, decoded.values.tolist(), events]
    return [*accepted, *astuple(decoded.dead)]


def one_by_one(codec: Codec, batch: Batch) -> list[list[object]]:
    """Each beside a record that is refused, so that both are looked at one by one."""
    joined: list[list[object]] = [[] for _ in range(9)]
    for index in range(len(batch.offsets)):
        record = [column[index : index + 1] for column in astuple(batch)[1:]]
        pair = Batch(batch.partition, *map(add, record, REFUSED_BY_ALL))
        found = columns(codec.decode(pair))
        for column, part in zip(joined, found[:5] + [dead[:-1] for dead in found[5:]], strict=True):
            column += part
    return joined


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(messages, max_size=4), st.integers(-3, 3))
def test_together_is_as_one_by_one(some: list[Message], earlier: int) -> None:
    batch = batch_of(some)
    batch = replace(batch, timestamps=[earlier + offset for offset in batch.offsets])
    for reading in CODECS:
        assert columns(reading.decode(batch)) == one_by_one(reading, batch)


halves = st.integers(-(10**9), 10**9).map(lambda units: (units + 0.5) / 100)


@given(st.lists(halves | st.floats(-1e9, 1e9) | st.integers(-(10**9), 10**9)))
def test_numbers_together_are_rounded_as_one_by_one(numbers: list[float]) -> None:
    hundredths = Numbers("x", units_per_one=100)
    records: list[Record] = [{"x": number} for number in numbers]
    assert hundredths.read_column(records) == list(map(hundredths.read, records))


@pytest.mark.slow
@pytest.mark.parametrize("share", first_in_test([0.5, 0.0005, 0, 0.01, 1], 1))
def test_refused_records_anywhere_leave_all_others_as_they_are(share: float) -> None:
    random, refused = Random(7), [message for message, *_ in REFUSED.values()]
    batch = batch_of(
        [
            random.choice(refused) if random.random() < share else GOOD
            for _ in range(4 * READ_TOGETHER + 1)
        ]
    )
    assert columns(codec().decode(batch)) == one_by_one(codec(), batch)


class OnlyTogether(Symbols):
    """Cannot read one record by itself."""

    def read(self, record: Record) -> int:
        raise AssertionError("read one by one")


def test_records_that_nobody_refuses_are_never_read_one_by_one() -> None:
    reading = Codec(OnlyTogether("zone", ALPHABET), 400, FieldTimestamp("at", 1))
    batch = batch_of([(b"bob", b'{"zone": "light", "at": %d}' % at) for at in range(600)])
    assert reading.decode(batch).values.tolist() == [1] * 600


def pieces(text: bytes) -> Sequence[Message]:
    return [(b"bob", piece) for piece in text.split(b"|")]


@pytest.mark.parametrize(
    "text",
    [
        b'{"zone": "rest|light"}',
        b'{"zone": "rest"|}',
        b'{"zone": "rest"}, {"zone": "rest"}|{"zone": "rest"',
        b'{"zone": "rest", "x": [1|2]}|{"zone": "rest"}, {"zone": "rest"}',
        b'[{"zone": "rest"}|{"zone": "rest"}]',
    ],
)
def test_values_that_are_json_only_when_joined_are_refused(text: bytes) -> None:
    batch = batch_of([*pieces(text), GOOD])
    assert codec().decode(batch).offsets == [batch.offsets[-1]]
