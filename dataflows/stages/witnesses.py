"""Remember whose records have come how far: the little that stream time needs of keys.

Only the newest times of distinct keys are kept, as many as count, because a key that is not among
them can only come in with a later time. Which of those with the same time is kept decides nothing.
Keys are kept as digests, in the clock of the partition.
"""

from collections.abc import Iterable
from hashlib import blake2b

from fugu.dataflows.base.ticks import Clock

_DIGEST_BYTES = 16

Times = dict[str, int]
"""The latest time of each key, by its digest."""


def digest(key: bytes) -> str:
    """Return what stands for the key."""
    return blake2b(key, digest_size=_DIGEST_BYTES).hexdigest()


def newest(times: Times, count: int) -> Times:
    """Return the `count` keys with the latest times."""
    order = sorted(times.items(), key=lambda item: (-item[1], item[0]))
    return dict(order[:count])


def stored(clock: Clock, about: str) -> Times:
    """Return what a clock holds about keys under this name."""
    return {name.removeprefix(about): time for name, time in clock.items() if is_of(name, about)}


def store(clock: Clock, about: str, times: Times) -> None:
    """Hold these in a clock instead."""
    drop(clock, [name for name in clock if is_of(name, about)])
    clock.update({about + name: time for name, time in times.items()})


def drop(clock: Clock, names: Iterable[str]) -> None:
    """Drop these from a clock."""
    for name in list(names):
        clock.pop(name, None)


def is_of(name: str, about: str) -> bool:
    """Return whether an entry of a clock is about a key, under this name."""
    return name.startswith(about)
