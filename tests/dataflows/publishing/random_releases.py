"""Random releases of every form that compiled code writes, as lists and as columns."""

import numpy as np

from fugu.dataflows.base.batches import DeadLetters, Outgoing, Sanitized
from fugu.dataflows.publishing.envelope import KeyPolicy, Pseudonyms, Publisher
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.numbers import Numbers
from fugu.dataflows.records.symbols import PlainSymbols, SymbolBatches, Symbols, SymbolSets
from fugu.dataflows.records.values import Domain
from fugu.operators.columns import ByteColumn, IntegerColumn
from fugu.operators.mechanism import Array, Releases
from fugu.operators.randomness import DrawScope, Secret

ALPHABET = ["rest", 'a "quoted" zone', "\u2028é", ""]
UNITS = (1, 2, 8, 10, 1000, 10**12)
DOMAINS: dict[str, Domain] = {
    "symbols": Symbols("zone", ALPHABET),
    "integers": Symbols('the "zone"', [-1, 0, 10, 2**40]),
    "plain": PlainSymbols("zone", ALPHABET),
    "sets": SymbolSets("zone", ALPHABET),
    "batches": SymbolBatches("zone", ALPHABET),
    **{f"numbers {unit}": Numbers("100 %d", units_per_one=unit) for unit in UNITS},
}
_SECRET = Secret(bytes(range(32)))


def random_releases(name: str, rows: int, rng: np.random.Generator) -> Releases:
    """Releases for one of the domains; kinds and confidences are missing now and then."""
    kinds = rng.integers(0, 2, rows) if rng.random() < 0.7 else None
    confidence = rng.choice([0.0, 1.0, 1 / 3, 0.00005, 0.99995, np.nan, rng.random()], rows)
    symbols = rng.integers(0, len(ALPHABET), rows)
    if name == "sets":
        return Releases(rng.random((rows, len(ALPHABET))) < rng.random(), {}, kinds)
    if name == "batches":
        batches = rng.integers(0, len(ALPHABET), (rows, 5))
        batches[np.arange(5) >= rng.integers(0, 6, rows)[:, None]] = -1
        return Releases(batches, {"confidence": confidence}, kinds)
    if name.startswith("numbers"):
        return Releases(random_numbers(rows, rng), {}, kinds)
    return Releases(symbols, {"confidence": confidence}, kinds)


def random_numbers(rows: int, rng: np.random.Generator) -> Array:
    """Doubles of all sizes: ties, numbers next to them, very small, large and not finite ones."""
    steps = rng.integers(-(10**6), 10**6, rows) / 2.0 ** rng.integers(0, 14, rows)
    halves = (rng.integers(-(10**5), 10**5, rows) + 0.5) / 10.0 ** rng.integers(0, 4, rows)
    bits = rng.integers(-(2**63), 2**63, rows, dtype=np.int64).view(np.float64)
    edges = [0.0, -0.0, -0.04, 2.0**-7, -(2.0**-8), 2.0**53, 2.0**53 - 1, 1e18, 0.5, 1.5]
    edges += [999_999.999_999_999_9, 5e-324, np.nan, np.inf, -np.inf]
    columns = steps, halves, np.nextafter(halves, 0), bits, rng.choice(edges, rows)
    return np.choose(rng.integers(0, len(columns), rows), columns)


def publisher_of(domain: Domain, policy: KeyPolicy) -> Publisher:
    """A publisher that writes one domain."""
    scope = DrawScope(_SECRET, "pipeline", "operator", 1, bytes(32))
    pseudonyms = Pseudonyms(_SECRET, "sink")
    return Publisher(
        Codec(domain, 1_000), scope, "topic id", "raw", b"guarantee", policy, pseudonyms
    )


def both_ways(releases: Releases, rng: np.random.Generator) -> tuple[Sanitized, Sanitized]:
    """The same releases with coordinates in lists and in columns."""
    rows = len(releases.values)
    keys = [b"k" * int(rng.integers(1, 150)) + b"%d" % rng.integers(9) for _ in range(rows)]
    offsets = np.cumsum(rng.integers(1, 4, rows)) + rng.choice([0, 2**40])
    times = 1_700_000_000_000 + offsets
    return (
        Sanitized(3, offsets.tolist(), times.tolist(), keys, releases, DeadLetters()),
        Sanitized(
            3,
            IntegerColumn(offsets),
            IntegerColumn(times),
            ByteColumn.of(keys),
            releases,
            DeadLetters(),
        ),
    )


def as_read(outgoing: Outgoing) -> list[tuple[object, ...]]:
    """Records as a client that knows no columns reads them, with the types of what it reads."""
    columns = outgoing.keys, outgoing.values, outgoing.headers, outgoing.timestamps
    return [
        (*row, *map(type, row), [type(content) for _, content in row[2]])
        for row in zip(*columns, outgoing.positions, strict=True)
    ]
