"""A producer that sends so many records a second: `python -m bench.comparison.paced`.

    BOOTSTRAP TOPIC PARTITIONS USERS RECORDS_PER_SECOND SECONDS

A process of its own: it must keep time while the bench looks at something else. It prints how many
records it sent.
"""

import sys
import time
from itertools import islice

from bench.comparison.data import Writing, stream_of
from bench.stream import key_of

_DIFFERENT = 100_000
"""Records that are made beforehand, and sent again and again."""
_PAUSE_SECONDS = 0.005


def main(
    bootstrap: str, topic: str, partitions: int, users: int, rate: float, seconds: float
) -> int:
    """Send."""
    records = [
        (user % partitions, key_of(user), value)
        for user, value in islice(stream_of(users, partitions).records(), _DIFFERENT)
    ]
    sent, total = 0, int(rate * seconds)
    with Writing(bootstrap) as writing:
        began = time.perf_counter()
        while sent < total:
            due = min(total, int((time.perf_counter() - began) * rate))
            for number in range(sent, due):
                writing.send(topic, *records[number % _DIFFERENT])
            sent = due
            time.sleep(_PAUSE_SECONDS)
    return sent


if __name__ == "__main__":
    bootstrap, topic, partitions, users, rate, seconds = sys.argv[1:]
    print(main(bootstrap, topic, int(partitions), int(users), float(rate), float(seconds)))
