"""Households that send the power they draw, and policies over when they do what.

Records are JSON of about 80 bytes, one of every household a tick. Collections have five policies
each, at hours and on weekdays of their own, so that few intervals are the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import orjson

from bench.stream import key_of
from fugu.dataflows.base.batches import Batch
from fugu.dataflows.kinds import KINDS, PolicyOperator, WEventOperator
from fugu.dataflows.policies.sections import WEEKDAYS

TICK = 900_000
"""Milliseconds."""
DAY = 96
"""In ticks."""
START = 20_458 * DAY
"""A Monday."""
PARTITIONS = 4
POLICIES = 5
"""Policies of a collection."""
LARGEST = 14.5
"""Kilowatts, in hundredths of which everything is counted."""

_BATCH = 5_000
CLOCKS = 3
"""Households that must have sent a later record before a tick closes."""
_SEED = 1


def under_policies(strategy: str, collections: int, households: int) -> PolicyOperator:
    """Read from a document with the keys of all households, who share the collections."""
    random = Random(_SEED)
    content = {
        "version": 1,
        "grid": {"tick": "PT15M", "zone": "Europe/Berlin"},
        "query": {"kind": "sum", "unit": "kW", "cap": LARGEST, "resolution": 0.01},
        "epsilon": 1.0,
        "collections": [
            {
                "id": f"collection-{number:04d}",
                "applies_to": _whose(range(number, households, collections)),
                "policies": [_policy(place, random) for place in range(POLICIES)],
            }
            for number in range(collections)
        ],
    }
    with TemporaryDirectory(prefix="fugu-bench-") as folder:
        (Path(folder) / "policies.json").write_bytes(orjson.dumps(content))
        section = {"kind": strategy, "policies": "policies.json"}
        read = KINDS[strategy].model_validate(section, context=Path(folder))
        assert isinstance(read, PolicyOperator)
        return read


def without_policies(strategy: str) -> WEventOperator:
    """The same sum, protected in any day of ticks."""
    read = KINDS[strategy].model_validate(
        {
            "kind": strategy,
            "epsilon": 1.0,
            "window": DAY,
            "sum": {"field": "kw", "lower": 0, "upper": LARGEST, "unit": 0.01},
            "ticks": {"width": "15m"},
        }
    )
    assert isinstance(read, WEventOperator)
    return read


def _whose(households: range) -> dict[str, object]:
    """Those of somebody who sends nothing, where households are fewer than collections."""
    return {"keys": [key_of(user).decode() for user in households] or [f"none-{households.start}"]}


def _policy(place: int, random: Random) -> dict[str, object]:
    """From one hour to eight, on two days a week or more."""
    start, quarters = random.randrange(DAY), random.randrange(4, 33)
    days = sorted(random.sample(range(7), random.randrange(2, 8)))
    return {
        "id": f"policy-{place}",
        "calendar": {
            "days": [WEEKDAYS[day] for day in days],
            "start": _clock(start),
            "end": _clock((start + quarters) % DAY),
        },
        "pattern": {"ticks": random.randrange(1, 5)},
        "theta": random.randrange(20, 400) / 100,
    }


def _clock(quarter: int) -> str:
    return f"{quarter // 4:02d}:{quarter % 4 * 15:02d}"


@dataclass(frozen=True)
class Meters:
    """Return what `households` send in `ticks` ticks, partition by partition."""

    households: int
    ticks: int

    @property
    def records(self) -> int:
        """All that count."""
        return self.households * self.ticks

    @cached_property
    def batches(self) -> list[Batch]:
        """All ticks, and records of the tick after them, which close the last one."""
        return [batch for partition in range(PARTITIONS) for batch in self._batches_of(partition)]

    def _batches_of(self, partition: int) -> Iterator[Batch]:
        random, offset = Random(_SEED + partition), 0
        sent = self._sent_to(partition)
        while chunk := list(islice(sent, _BATCH)):
            yield Batch(
                partition,
                list(range(offset, offset + len(chunk))),
                [tick * TICK for tick, _ in chunk],
                [key_of(user) for _, user in chunk],
                [_record(tick, random) for tick, _ in chunk],
                [[] for _ in chunk],
            )
            offset += len(chunk)

    def _sent_to(self, partition: int) -> Iterator[tuple[int, int]]:
        """Tick and household."""
        for tick in range(START, START + self.ticks):
            for user in range(partition, self.households, PARTITIONS):
                yield tick, user
        for user in range(partition, PARTITIONS * CLOCKS, PARTITIONS):
            yield START + self.ticks, user


def _record(tick: int, random: Random) -> bytes:
    """In no more memory than it needs, which a JSON library would take."""
    return b'{"kw":%.2f,"at":%d,"meter":"model-%03d","session":"%016x"}' % (
        random.randrange(1_450) / 100,
        tick * TICK + random.randrange(TICK),
        random.randrange(1_000),
        random.getrandbits(64),
    )
