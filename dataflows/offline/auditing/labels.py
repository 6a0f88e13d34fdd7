"""Label what a record tells beside its value, so that nothing that is published goes unseen."""

from collections.abc import Iterable, Mapping
from hashlib import blake2b

import orjson

from fugu.dataflows.base.batches import Header
from fugu.dataflows.records.published import RELEASE_HEADER

_LABEL_BYTES = 6
"""A label of so many bytes is a whole number that a double holds."""


def label_of(content: bytes, headers: Iterable[Header]) -> float:
    """Return the same number for equal bytes only; the release id differs in every record."""
    digest = blake2b(content, digest_size=_LABEL_BYTES)
    for name, said in headers:
        if name != RELEASE_HEADER:
            digest.update(said)
    return float(int.from_bytes(digest.digest(), "little"))


def label_beside(record: Mapping[str, object], field: str, headers: Iterable[Header]) -> float:
    """Return the label of a record without one of its fields."""
    return label_of(orjson.dumps({**record, field: None}), headers)
