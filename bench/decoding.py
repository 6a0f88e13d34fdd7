"""Measure what it costs to read a record: `python -m bench.decoding`, some seconds, without Kafka.

The same records from lists by orjson, and from columns by compiled code, in turn; thread CPU
nanoseconds per record, medians of rounds.
"""

import time
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
from rich.console import Console
from rich.table import Table

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.codec import Codec, Values
from fugu.dataflows.records.contributions import Contributions, SetContributions
from fugu.dataflows.records.json_fields import FieldTimestamp
from fugu.dataflows.records.numbers import Numbers
from fugu.dataflows.records.payloads import Payloads
from fugu.dataflows.records.symbols import Symbols
from fugu.operators.integer_column import IntegerColumn

RECORDS, ROUNDS = 5_000, 25
_ZONES = ["rest", "light", "vigorous"]
_LARGEST_VALUE = 10_000


@dataclass(frozen=True)
class Cost:
    """Hold nanoseconds per record of one domain."""

    domain: str
    lists: float
    columns: float


def measure_decoding() -> list[Cost]:
    """Measure each domain in records of six fields, and one in records of one."""
    zones, watts = Alphabet("zone", _ZONES), Numbers("bpm", units_per_one=10)
    domains: dict[str, Values] = {
        "symbols": Symbols("zone", _ZONES),
        "numbers": watts,
        "contributions": Contributions(zones, watts, upper=1_000),
        "sets": SetContributions(Alphabet("set", _ZONES)),
        "payloads": Payloads(["bpm"], null="error"),
    }
    short = [b'{"zone":"%b"}' % _ZONES[i % 3].encode() for i in range(RECORDS)]
    long = [
        b'{"zone": "%b", "at": %d, "bpm": 71.%d, "on": true, "id": "%x", "set": ["rest", "light"]}'
        % (_ZONES[i % 3].encode(), 1_700_000_000_000 + i, i % 9 + 1, i)
        for i in range(RECORDS)
    ]
    costs = [_measured("symbols, nothing else", Codec(domains["symbols"], _LARGEST_VALUE), short)]
    costs += [_measured(name, Codec(one, _LARGEST_VALUE), long) for name, one in domains.items()]
    timed = Codec(domains["symbols"], _LARGEST_VALUE, FieldTimestamp("at", 1), "id")
    return [*costs, _measured("symbols, times and event ids", timed, long)]


def _measured(name: str, codec: Codec, values: list[bytes]) -> Cost:
    codec.warm_up()
    count = range(RECORDS)
    lists = Batch(0, list(count), list(count), [b"key"] * RECORDS, list(values), [[]] * RECORDS)
    columns = replace(
        lists,
        offsets=IntegerColumn(np.arange(RECORDS)),
        timestamps=IntegerColumn(np.arange(RECORDS)),
        keys=OptionalByteColumn.of(lists.keys),
        values=OptionalByteColumn.of(lists.values),
    )
    rounds = [[_nanoseconds(codec, batch) for batch in (lists, columns)] for _ in range(ROUNDS)]
    return Cost(name, *(median(ones) for ones in zip(*rounds, strict=True)))


def _nanoseconds(codec: Codec, batch: Batch) -> float:
    begin = time.thread_time()
    codec.decode(batch)
    return (time.thread_time() - begin) / RECORDS * 1e9


def main() -> None:
    """Print a table."""
    table = Table("values", "lists, ns", "columns, ns", "ratio")
    for cost in measure_decoding():
        ratio = f"{cost.lists / cost.columns:.1f}"
        table.add_row(cost.domain, f"{cost.lists:.0f}", f"{cost.columns:.0f}", ratio)
    Console().print(table)


if __name__ == "__main__":
    main()
