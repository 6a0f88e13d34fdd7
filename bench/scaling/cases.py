"""Vary one thing at a time, and make the records of each case."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

import numpy as np
import orjson

from bench.comparison.data import ALPHABET, STAYS, model_document
from bench.stream import key_of
from fugu.operators.mechanism import Integers

Skew = Literal["uniform", "Zipf(1.2)", "half under one key"]
ZIPF = 1.2
DENSE = 100
"""Larger alphabets have models of sparse rows."""
_SEED = 20260102


@dataclass(frozen=True)
class Case:
    """A source topic: everybody sends once, and then `records` more are sent."""

    users: int = 10_000
    record_bytes: int = 120
    partitions: int = 4
    symbols: int = len(ALPHABET)
    skew: Skew = "uniform"
    records: int = 400_000

    @property
    def alphabet(self) -> list[str]:
        """Names of a length."""
        if self.symbols == len(ALPHABET):
            return ALPHABET
        return [f"place-{number:05d}" for number in range(self.symbols)]

    @property
    def model(self) -> dict[str, object]:
        """A model file's content: symbols stay, or move on."""
        if self.symbols <= DENSE:
            return model_document(self.alphabet)
        names = self.alphabet
        rows = [
            {"from": name, "to": {name: STAYS, follower: 0.15}, "uniform": 0.05}
            for name, follower in zip(names, [*names[1:], names[0]], strict=True)
        ]
        return {
            "format": "fugu-markov-model",
            "format_version": 2,
            "alphabet": names,
            "prior": "uniform",
            "transition": rows,
            "smoothing": 0.001,
        }

    def sent(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Partition, key and value of every record."""
        random, names = Random(_SEED), self.alphabet
        now = [random.randrange(self.symbols) for _ in range(self.users)]
        padding = "x" * max(0, self.record_bytes - len(_value(names[0], 100, "")))
        for user in [*range(self.users), *self._senders().tolist()]:
            if random.random() > STAYS:
                now[user] = random.randrange(self.symbols)
            value = _value(names[now[user]], random.randrange(50, 190), padding)
            yield user % self.partitions, key_of(user), value

    def _senders(self) -> Integers:
        random = np.random.default_rng(_SEED)
        if self.skew == "Zipf(1.2)":
            weights = np.arange(1, self.users + 1) ** -ZIPF
            return random.choice(self.users, self.records, p=weights / weights.sum())
        senders = random.integers(self.users, size=self.records)
        if self.skew == "half under one key":
            senders[random.random(self.records) < 0.5] = 0
        return senders


AXES: dict[str, tuple[str, list[Case]]] = {
    "users": (
        "users",
        [Case(users=users) for users in (1_000, 10_000, 100_000, 1_000_000)],
    ),
    "record_bytes": (
        "bytes per record",
        [
            Case(record_bytes=size, records=400_000 if size < 1_000 else 100_000)
            for size in (100, 300, 1_000, 3_000, 10_000)
        ],
    ),
    "partitions": ("partitions", [Case(partitions=count) for count in (1, 2, 4, 8, 16)]),
    "symbols": (
        "symbols",
        [
            Case(symbols=4),
            Case(),
            Case(symbols=100, records=100_000),
            Case(symbols=1_000, users=1_000, records=100_000),
            Case(symbols=10_000, users=1_000, records=60_000),
        ],
    ),
    "skew": (
        "keys",
        [Case(), Case(skew="Zipf(1.2)"), Case(skew="half under one key")],
    ),
}
"""The name of what is varied, what a reader calls it, and the cases."""


def quick(case: Case) -> Case:
    """The same with few users and records."""
    return replace(case, users=min(case.users, 10_000), records=min(case.records, 40_000))


def _value(zone: str, bpm: int, padding: str) -> bytes:
    return orjson.dumps({"zone": zone, "bpm": bpm, "note": padding})
