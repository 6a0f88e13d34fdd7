"""Codecs of every domain, and whether they read columns as they read lists."""

from collections.abc import Sequence
from itertools import cycle
from random import Random

import numpy as np

from fugu.dataflows.base.batches import Batch, Decoded
from fugu.dataflows.base.columns import NONE, OptionalByteColumn
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.codec import WORTH_SCANNING, Codec
from fugu.dataflows.records.contributions import Contributions, SetContributions, YesOrNo
from fugu.dataflows.records.json_fields import FieldTimestamp
from fugu.dataflows.records.numbers import Numbers
from fugu.dataflows.records.payloads import Payloads
from fugu.dataflows.records.symbols import Symbols
from fugu.dataflows.records.values import Values
from fugu.operators.columns import IntegerColumn, bytes_of
from tests.dataflows.records.scanned.random_records import RandomRecords, damaged_keys

ZONES = ["rest", "light", "vigorous", "café"]
LARGEST_VALUE = 400
DOMAINS: list[Values] = [
    Symbols("zone", ZONES),
    Symbols("zone", ZONES, other="light"),
    Symbols("x", [0, 1, 2, -1, 999_999_999_999_999_999]),
    Symbols("x", [0, 1, 2], other=0),
    Numbers("x", units_per_one=1),
    Numbers("x", units_per_one=100),
    Numbers("x", units_per_one=8),
    Numbers("x", units_per_one=10**6),
    Numbers("x", units_per_one=10**15),
    Payloads(["x"], null="as_none"),
    Payloads(["zone"], null="error"),
    Payloads(["zone", "x"], null="error"),
    Contributions(None, None),
    Contributions(Alphabet("zone", ZONES), None),
    Contributions(None, Numbers("x", units_per_one=8), lower=-5, upper=50),
    Contributions(Alphabet("zone", ZONES), Numbers("x", units_per_one=10), lower=0, upper=9),
    Contributions(None, YesOrNo("x")),
    SetContributions(Alphabet("zone", ZONES)),
    SetContributions(Alphabet("x", [0, 1, 2], other=2)),
    Symbols("zone.zone", ZONES),
    Symbols("zone[1]", ZONES),
    Numbers("x.x[0].x", units_per_one=100),
    Payloads(["zone[0].x"], null="as_none"),
    Payloads(["zone.zone", "x[2]"], null="error"),
    Contributions(Alphabet("zone[0].zone", ZONES), Numbers("x.x", units_per_one=8), upper=9),
]
"""All that a pipeline file can ask for."""
_BETWEEN = [
    b"",
    b"}",
    b'"}',
    b"0",
    b"\x80",
    b"{",
    b"e5}",
    b"]}",
    b"]",
    b"u0041",
    b'\\"',
    b"[1,",
    b" ",
    b"7",
]
CODECS = [
    Codec(domain, LARGEST_VALUE, timestamp, event, exact)
    for domain in DOMAINS
    for timestamp, event, exact in [
        (None, None, ()),
        (FieldTimestamp("at", 1000), None, ("zone",)),
        (None, "at", ("zone", "x")),
        (FieldTimestamp("at", 1), "zone", ("x",)),
        (FieldTimestamp("at.at", 1), "zone.x", ("zone.zone", "x[0]")),
    ]
]
KEYED = [
    Codec(Symbols("zone", ZONES), LARGEST_VALUE, key="x"),
    Codec(Symbols("zone", ZONES), LARGEST_VALUE, FieldTimestamp("at", 1), key="zone.x"),
    Codec(Payloads(["x"], null="as_none"), LARGEST_VALUE, event="at", key="zone", forwarded=True),
]
"""Those that read users from a field."""
SCANNING = [codec for codec in CODECS if codec.scanner is not None]


def batch_of(seed: int, count: int) -> Batch:
    """Records of every shape, as lists."""
    random = Random(seed)
    return Batch(
        partition=3,
        offsets=[7 * number for number in range(count)],
        timestamps=[random.randrange(-3, 2_000_000_000_000) for _ in range(count)],
        keys=damaged_keys(random, count),
        values=RandomRecords(seed).some(count),
        headers=[[]] * count,
    )


def in_columns(batch: Batch) -> Batch:
    """The same batch, as librdkafka's reader makes it: what is between records is no concern."""
    return Batch(
        batch.partition,
        IntegerColumn(np.array(batch.offsets)),
        IntegerColumn(np.array(batch.timestamps)),
        OptionalByteColumn.of(batch.keys),
        scattered(batch.values),
        batch.headers,
    )


def scattered(values: Sequence[bytes | None]) -> OptionalByteColumn:
    """A column of values that lie between what would complete them, or spoil them."""
    parts, begins, at = [], [], 0
    for value, between in zip(values, cycle(_BETWEEN), strict=False):
        begins.append(at + len(between))
        parts += [between, value or b""]
        at += len(between) + len(value or b"")
    lengths = [NONE if value is None else len(value) for value in values]
    return OptionalByteColumn(bytes_of(b"".join(parts)), np.array(begins), np.array(lengths))


def listed(decoded: Decoded) -> list[object]:
    """All that there is in decoded records, in a form that can be compared."""
    return [
        decoded.partition,
        *(list(column) for column in (decoded.offsets, decoded.timestamps, decoded.keys)),
        decoded.values.dtype,
        decoded.values.tolist(),
        None if decoded.events is None else list(decoded.events),
        vars(decoded.dead),
        vars(decoded.refused),
    ]


def is_read_alike(codec: Codec, batch: Batch) -> bool:
    """Return whether a codec reads a batch of lists as it reads the same in columns."""
    return listed(codec.decode(in_columns(batch))) == listed(codec.decode(batch))


def is_read_alike_where_sure(codec: Codec, batch: Batch) -> bool:
    """Return whether a codec accepts all that its scanner is sure of, and reads the same."""
    assert codec.scanner is not None
    found = codec.scanner.read(scattered(batch.values))
    places = np.flatnonzero(found.sure)
    decoded = codec.decode(batch_with([batch.values[place] for place in places.tolist()]))
    columns = [(decoded.values, found.values)]
    columns += [] if found.times is None else [(np.array(decoded.timestamps), found.times)]
    columns += [] if found.events is None else [(np.array(decoded.events, np.uint64), found.events)]
    return len(decoded.offsets) == len(places) and all(
        read.tolist() == scanned[places].tolist() for read, scanned in columns
    )


def read_differently(codec: Codec, batch: Batch) -> list[bytes | None]:
    """The values of a batch that a codec does not read alike."""
    values = dict.fromkeys(batch.values)
    return [one for one in values if not is_read_alike(codec, batch_with([one] * WORTH_SCANNING))]


def batch_with(values: Sequence[bytes | None]) -> Batch:
    """Records with these values, as lists."""
    count = len(values)
    keys: list[bytes | None] = [b"key"] * count
    return Batch(3, list(range(count)), list(range(count)), keys, values, [[]] * count)
