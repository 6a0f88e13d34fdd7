"""Remember whose records have come how far: the little that stream time needs of keys.

Only the newest times of distinct keys are kept, as many as count, because a key that is not among
them can only come in with a later time. Which of those with the same time is kept decides nothing.
Keys are kept as digests, in the clock of the partition.
"""

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


def heard(times: Times, told: Times, count: int) -> Times:
    """Return the `count` keys with the latest times, once some more are told."""
    later = {key: max(time, times.get(key, time)) for key, time in told.items()}
    return newest(times | later, count)


def reached(times: Times, people: int) -> int | None:
    """Return the time that so many people have come to."""
    return sorted(times.values())[-people] if len(times) >= people else None


def stored(clock: Clock, about: str) -> Times:
    """Return what a clock holds about keys under this name."""
    return {n.removeprefix(about): time for n, time in clock.items() if n.startswith(about)}


def store(clock: Clock, about: str, times: Times) -> None:
    """Hold these in a clock instead."""
    for name in [name for name in clock if name.startswith(about)]:
        del clock[name]
    clock.update({about + name: time for name, time in times.items()})
