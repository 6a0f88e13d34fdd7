"""Plain loops that do one record after the other: what the same work costs without batches.

Each makes the same bytes as Fugu, or checks less; none is what Fugu runs.
"""

from collections.abc import Mapping

import orjson

from fugu.dataflows.base.batches import Batch, Sanitized
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.record_reading import LARGEST_KEY_BYTES
from fugu.operators.columns import encode_fields
from fugu.operators.randomness import RELEASE_ID_BYTES, RELEASE_IDS_PER_BLOCK, DrawScope


def decode(codec: Codec, batch: Batch) -> list[tuple[int, int, bytes, object]]:
    """Return what is accepted: offset, time, key and value."""
    accepted: list[tuple[int, int, bytes, object]] = []
    for offset, timestamp, key, content, _ in batch.records():
        if not key or len(key) > LARGEST_KEY_BYTES:
            continue
        if not content or len(content) > codec.max_value_bytes:
            continue
        accepted.append((offset, timestamp, key, codec.domain.read(orjson.loads(content))))
    return accepted


def encode(field: str, sanitized: Sanitized) -> list[bytes]:
    """Releases as JSON; a symbol's number stands for its name."""
    confidences = sanitized.releases.annotations["confidence"].tolist()
    name, written = field.encode(), []
    for symbol, confidence in zip(sanitized.releases.values.tolist(), confidences, strict=True):
        written.append(b'{"%b":%d,"confidence":%.4f}' % (name, symbol, confidence))
    return written


def release_ids(scope: DrawScope, source: str, sanitized: Sanitized) -> list[bytes]:
    """A hash for every record."""
    fields = scope.pipeline, scope.operator, scope.version, "release", source, sanitized.partition
    prefix = scope.secret.hasher("fugu-release-id-v1", *fields)
    ids = []
    for offset in sanitized.offsets:
        block, place = divmod(offset, RELEASE_IDS_PER_BLOCK)
        hasher = prefix.copy()
        hasher.update(encode_fields(block))
        start = place * RELEASE_ID_BYTES
        ids.append(hasher.digest()[start : start + RELEASE_ID_BYTES].hex().encode())
    return ids


def pseudonyms(known: Mapping[bytes, bytes], sanitized: Sanitized) -> list[bytes]:
    """A look-up for every record."""
    found = []
    for key in sanitized.keys:
        found.append(known[key])
    return found
