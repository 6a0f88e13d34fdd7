"""Find keys in a list of keys, or in a column without an object for each of them."""

from collections.abc import Iterator, Sequence

import numpy as np

from fugu.operators.byte_column import ByteColumn
from fugu.operators.mechanism import Integers


def first_of_each(keys: Sequence[bytes], places: Integers) -> Iterator[int]:
    """Yield those of the places, in their order, whose key none before them has.

    >>> list(first_of_each([b"anna", b"ben", b"anna"], np.array([2, 1, 0])))
    [2, 1]
    """
    if isinstance(keys, ByteColumn):
        yield from _first_of_each(keys, places)
        return
    seen: set[bytes] = set()
    for place in places.tolist():
        if keys[place] not in seen:
            seen.add(keys[place])
            yield place


def _first_of_each(keys: ByteColumn, places: Integers) -> Iterator[int]:
    """Leave out at once all places of a key that comes a second time."""
    seen: set[bytes] = set()
    while len(places):
        key = keys[int(places[0])]
        if key in seen:
            places = np.delete(places, keys.taken(places).places_of(key))
        else:
            seen.add(key)
            yield int(places[0])
            places = places[1:]


def places_of_any(few: frozenset[bytes], keys: Sequence[bytes]) -> Integers:
    """Return the places of a few keys, in order.

    >>> places_of_any(frozenset([b"anna"]), [b"anna", b"ben", b"anna"]).tolist()
    [0, 2]
    """
    if not few:
        return np.zeros(0, dtype=np.int64)
    if isinstance(keys, ByteColumn):
        return np.sort(np.concatenate([keys.places_of(key) for key in few]))
    return np.flatnonzero([key in few for key in keys])
