"""The chain of digests that says which policies a figure was made with."""

import json
from hashlib import blake2b

from fugu.operators.swellfish.plain_data import plain_json

DIGEST_BYTES = 16


def first_digest(timeline_digest: bytes) -> bytes:
    """Return the digest of the configured policies alone.

    >>> first_digest(bytes(32)).hex()
    'ff0f22492f44bac4c4b30ae58d0e8daa'
    """
    return blake2b(timeline_digest, digest_size=DIGEST_BYTES).digest()


def next_digest(before: bytes, change: bytes, now: int) -> bytes:
    """Return the digest after one more change, which tick `now` is the first to know of.

    A change that is refused counts as well. Of a time zone only the name counts, since the clock
    changes of a zone depend on the version of the database that somebody has. So whoever knows the
    document and all changes finds the tick from which on each was known, and sees whether one was
    left out, delayed or made up: two different histories with the same digest would be a collision
    of BLAKE2b.

    >>> one, other = (next_digest(first_digest(bytes(32)), b"{}", now) for now in (7, 8))
    >>> one == other
    False
    """
    content = before + now.to_bytes(8, "little", signed=True) + _with_names_of_zones(change)
    return blake2b(content, digest_size=DIGEST_BYTES).digest()


def _with_names_of_zones(change: bytes) -> bytes:
    return plain_json(_without_transitions(json.loads(change)))


def _without_transitions(data: object) -> object:
    """Replace zones, wherever they are, by their names."""
    if isinstance(data, list):
        return [_without_transitions(part) for part in data]
    if not isinstance(data, dict):
        return data
    if data.keys() == {"name", "transitions"}:
        return data["name"]
    return {name: _without_transitions(part) for name, part in data.items()}
