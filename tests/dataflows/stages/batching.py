"""One input, cut into batches in different ways: everything that leaves, and the state after it.

Run as a program it prints a digest, so that other machines and settings can be compared.
"""

from collections import Counter
from hashlib import blake2b
from random import Random

import numpy as np

from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Mechanism
from tests.dataflows.stages.columns import (
    ALPHABET,
    CRR,
    Message,
    batch_of,
    codec,
    lift,
    publisher,
    rows_of,
)

RECORDS = 1200
HOT_KEY = b"hot"
Everything = tuple[list[tuple[object, ...]], list[tuple[object, ...]], bytes]


def stream(seed: int = 1) -> list[Message]:
    """Records of 100 keys, one of them hot, some of them refused; long runs of the hot key."""
    random = Random(seed)
    messages: list[Message] = []
    while len(messages) < RECORDS:
        zone = random.choice([*ALPHABET, "unknown"] if random.random() < 0.05 else ALPHABET)
        value = b'{"zone": "%s"}' % zone.encode()
        if random.random() < 0.1:
            messages += [(HOT_KEY, value)] * random.randrange(1, 30)
        messages.append((b"user-%d" % random.randrange(100), value))
    return messages[:RECORDS]


def everything(
    messages: list[Message],
    batch_size: int,
    *,
    encode_between: bool = False,
    mechanism: Mechanism = CRR,
) -> Everything:
    """All releases, all dead letters and the final state, from batches of one size.

    With `encode_between` the state goes through its bytes after every batch, as in a recovery.
    """
    releases, dead_letters = [], []
    table = RowTable(mechanism.start)
    publish = publisher()
    for first in range(0, len(messages), batch_size):
        batch = batch_of(messages[first : first + batch_size], first_offset=first)
        sanitized = lift(mechanism=mechanism)(codec().decode(batch), table)
        releases += rows_of(publish.releases(sanitized))
        dead_letters += rows_of(publish.dead_letters(sanitized.partition, sanitized.dead))
        if encode_between:
            block = table.take_everything()
            table = RowTable(mechanism.start)
            table.apply(block)
    return releases, dead_letters, table.take_everything()


def digest(result: Everything) -> str:
    """The result as a short text."""
    return blake2b(repr(result).encode(), digest_size=16).hexdigest()


def enabled_cpu_features() -> list[str]:
    """Return what numpy uses of this processor beyond its baseline."""
    return np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])


def occurrences(messages: list[Message]) -> Counter[bytes | None]:
    """Return how often each key occurs."""
    return Counter(key for key, _ in messages)


if __name__ == "__main__":
    print(enabled_cpu_features())
    print(digest(everything(stream(), 1000)))
