"""Draw deterministic, replay-safe randomness: every word is a keyed hash of what it is for."""

import struct
from binascii import hexlify
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from fugu.operators import compiled
from fugu.operators.columns import (
    ByteColumn,
    Field,
    bytes_of,
    column_of,
    encode_each,
    encode_field,
    encode_fields,
    encode_rows,
    selected,
    table_of_integers,
)
from fugu.operators.mechanism import Draws, Integers, Words

if TYPE_CHECKING:
    from fugu.operators.compiled_keyed_words import Absorbed


SECRET_BYTES = 32


class Secret:
    """Hold 32 secret bytes that never show in a repr or a traceback, and are never pickled."""

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        if len(key) != SECRET_BYTES:
            raise ValueError(f"a secret has {SECRET_BYTES} bytes, this one has {len(key)}")
        self._key = key

    def __repr__(self) -> str:
        return "Secret(hidden)"

    def __reduce__(self) -> str:
        raise TypeError("a secret is never stored")

    def hasher(self, *prefix: Field) -> "blake2b":
        """Return a keyed BLAKE2b-512 that has absorbed `prefix`; copy it to absorb more."""
        return blake2b(encode_fields(*prefix), key=self._key)

    def derive(self, *purpose: Field) -> "Secret":
        """Return a sub-key for one purpose, unrelated to every draw."""
        return Secret(self.hasher("fugu-subkey-v1", *purpose).digest()[:SECRET_BYTES])

    def ratchet(self) -> "Secret":
        """Return the key that follows this one; it does not give this one away."""
        return Secret(blake2b(b"ratchet", key=self._key, digest_size=SECRET_BYTES).digest())

    def reveal(self) -> bytes:
        """Return the bytes, for the one place that writes a new key file."""
        return self._key

    def check_value(self) -> str:
        """Return a fingerprint that tells two secrets apart and says nothing about either."""
        return self.hasher("fugu-check-v1").hexdigest()[:32]


RELEASE_IDS_PER_BLOCK = 4
RELEASE_ID_BYTES = 16
WORTH_HASHING = 16
"""Fewer blocks are hashed sooner than a compiled function is called."""


class KeyedPrefix:
    """Absorb a key and the fields that many hashes begin with, once; it is never shown."""

    def __init__(self, secret: Secret, *fields: Field) -> None:
        self.hasher = secret.hasher(*fields)
        self._secret, self._fields = secret, fields

    def __repr__(self) -> str:
        return "KeyedPrefix(hidden)"

    def __reduce__(self) -> str:
        raise TypeError("what a secret was absorbed into is never stored")

    @cached_property
    def compiled(self) -> "Absorbed":
        """Return the same for `fugu.operators.compiled`."""
        from fugu.operators.compiled_keyed_words import Absorbed

        return Absorbed.of(self._secret.reveal(), encode_fields(*self._fields))

    def names_of(self, keys: Sequence[bytes], *numbers: Integers) -> ByteColumn:
        """Return a name for each key, of 32 hexadecimal digits: the first one in its digest.

        More fields of a row are a number of each column of `numbers`.
        """
        tails = encode_rows(len(keys), *numbers)
        if len(keys) >= WORTH_HASHING and compiled.available():
            from fugu.operators.compiled_keyed_words import name_keys

            return name_keys(self.compiled, ByteColumn.of(keys), tails)
        return self._names_in_digests(keys, tails)[::RELEASE_IDS_PER_BLOCK]

    def names_of_offsets(self, offsets: Integers) -> ByteColumn:
        """Return a name for each offset: neighbours share a block, whose digest names them all."""
        if len(offsets) >= WORTH_HASHING and compiled.available():
            from fugu.operators.compiled_keyed_words import name_offsets

            return name_offsets(self.compiled, offsets)
        blocks = offsets // RELEASE_IDS_PER_BLOCK
        is_new = np.diff(blocks, prepend=blocks[:1] - 1) != 0
        contents = ByteColumn.of_table(table_of_integers(blocks[is_new]))
        names = self._names_in_digests(contents, encode_rows(len(contents)))
        first = (np.cumsum(is_new) - 1) * RELEASE_IDS_PER_BLOCK
        return names.taken(first + offsets % RELEASE_IDS_PER_BLOCK)

    def _names_in_digests(self, contents: Sequence[bytes], tails: ByteColumn) -> ByteColumn:
        """Return all names in the digests of the prefix, one more field, and its tail."""
        digests = []
        for content, tail in zip(contents, tails, strict=True):
            hasher = self.hasher.copy()
            hasher.update(encode_field(content) + tail)
            digests.append(hasher.digest())
        return names_in(b"".join(digests))


def names_in(digests: bytes) -> ByteColumn:
    """Return all bytes as hexadecimal digits, cut into names."""
    return ByteColumn.of_table(bytes_of(hexlify(digests)).reshape(-1, 2 * RELEASE_ID_BYTES))


WORDS_PER_BLOCK = 8

_length = struct.Struct("<I").pack


@dataclass(frozen=True)
class DrawScope:
    """Hold everything about draws that stays the same while a pipeline runs.

    Every word is a keyed hash of who asks for what, so draws are deterministic and safe to replay.

    Word layout (a wire format; changing it changes every release):

        block b = BLAKE2b-512(key = secret, data = context ‖ u32le(b)), as 8 little-endian words
        context = the fields below, each as u32le(length) ‖ bytes, hence injective
            "fugu-words-v1", key epoch, pipeline, operator, configuration version, law digest,
            stream key, position, purpose, coordinate, binding

    Integers are 8-byte big-endian two's complement, text is UTF-8, `position` is itself an encoding
    of fields (for a record: topic id, partition, offset), `binding` names the exact data the draw
    is applied to: a BLAKE2b-256 digest, and what else decides the law it is compared with. Word i
    of a draw is word `i mod 8` of block `i div 8`.

    The same data at the same position always draws the same words; other data draw independent
    ones. Privacy is therefore computational: whoever holds the secret can repeat every draw.

    >>> from fugu.operators.columns import binding_digest
    >>> scope = DrawScope(Secret(bytes(32)), pipeline="p", operator="crr", version=1, law=bytes(32))
    >>> draws = scope.draws([b"alice", b"bob"], [b"position 7", b"position 8"])
    >>> bindings = [binding_digest(3), binding_digest(0)]
    >>> words = draws.words("release", bindings, count=2)
    >>> words.shape, bool((words == draws.words("release", bindings, count=2)).all())
    ((2, 1, 2), True)

    Source: noise specification section 5; the field list is the one of the design, section 4.1,
    plus the law digest, so that a changed law never meets a draw of the law before it.
    """

    secret: Secret
    pipeline: str
    operator: str
    version: int
    law: bytes
    key_epoch: int = 0

    @cached_property
    def _words_prefix(self) -> KeyedPrefix:
        names = self.pipeline, self.operator, self.version, self.law
        return KeyedPrefix(self.secret, "fugu-words-v1", self.key_epoch, *names)

    def draws(self, stream_keys: Sequence[bytes], positions: Sequence[bytes]) -> "KeyedDraws":
        """Return the draws of one step: row i is stream `stream_keys[i]` at `positions[i]`."""
        return KeyedDraws(self._words_prefix, stream_keys, positions)

    def release_ids(
        self, purpose: str, topic: str, partition: int, offsets: Sequence[int]
    ) -> ByteColumn:
        """Return opaque public names of releases, one per source offset, 32 hexadecimal
        digits each.

        One block names four neighbouring offsets. The law digest is left out on purpose: the same
        position released under another law must be recognised as the same release.
        """
        prefix = self._names_prefix("fugu-release-id-v1", purpose, topic, partition)
        return prefix.names_of_offsets(column_of(offsets))

    def _names_prefix(self, layout: str, *fields: Field) -> KeyedPrefix:
        known = self._names_prefixes.get((layout, *fields))
        if known is None:
            names = self.pipeline, self.operator, self.version
            known = KeyedPrefix(self.secret, layout, *names, *fields)
            self._names_prefixes[layout, *fields] = known
        return known

    @cached_property
    def _names_prefixes(self) -> dict[tuple[Field, ...], KeyedPrefix]:
        return {}

    def tick_release_ids(
        self,
        topic: str,
        stream_keys: Sequence[bytes],
        epochs: Sequence[int],
        ticks: Sequence[int],
        *,
        partition: int | None = None,
    ) -> ByteColumn:
        """Return names of releases that belong to a tick of an epoch of a stream: of a user in a
        partition, or of a group, which has one stream for all of them."""
        place = () if partition is None else (partition,)
        prefix = self._names_prefix("fugu-tick-release-id-v1", topic, *place)
        return prefix.names_of(stream_keys, column_of(epochs), column_of(ticks))


@dataclass(frozen=True)
class KeyedDraws:
    """Draw words for rows with public positions, in the layout of `DrawScope`."""

    prefix: KeyedPrefix
    stream_keys: Sequence[bytes]
    positions: Sequence[bytes]

    def __post_init__(self) -> None:
        if len(self.stream_keys) != len(self.positions):
            raise ValueError("draws need one position for each stream key")
        if not ByteColumn.of(self.stream_keys).lengths.all():
            raise ValueError("a stream key must not be empty")

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        """Return uniform words, shape `(rows, coordinates, count)`."""
        if len(binding) != len(self.stream_keys):
            raise ValueError("draws need one binding for each row")
        blocks = -(-count // WORDS_PER_BLOCK)
        if len(binding) * coordinates * blocks >= WORTH_HASHING and compiled.available():
            words = self._compiled_words(purpose, binding, coordinates, blocks)
        else:
            words = self._hashed_words(purpose, binding, coordinates, blocks)
        return words[:, :, :count].astype(np.uint64)

    def taken(self, rows: Integers) -> "KeyedDraws":
        """Return the draws of some of the rows: the same words, without work for others."""
        keys, positions = selected(self.stream_keys, rows), selected(self.positions, rows)
        return replace(self, stream_keys=keys, positions=positions)

    @cached_property
    def columns(self) -> tuple[ByteColumn, ByteColumn]:
        """Return keys and positions for `fugu.operators.compiled`."""
        return ByteColumn.of(self.stream_keys), ByteColumn.of(self.positions)

    def _compiled_words(
        self, purpose: str, binding: Sequence[bytes], coordinates: int, blocks: int
    ) -> Words:
        from fugu.operators.compiled_keyed_words import draw_words

        purpose_field, bindings = encode_field(purpose), ByteColumn.of(binding)
        prefix = self.prefix.compiled
        return draw_words(prefix, *self.columns, purpose_field, bindings, coordinates, blocks)

    def _hashed_words(
        self, purpose: str, binding: Sequence[bytes], coordinates: int, blocks: int
    ) -> Words:
        middles = [encode_field(purpose) + encode_field(c) for c in range(coordinates)]
        suffixes = [struct.pack("<I", b) for b in range(blocks)]
        last = suffixes.pop()
        copy_prefix = self.prefix.hasher.copy
        tails: dict[bytes, list[bytes]] = {}
        digests = []
        for key, position, bound in zip(self.stream_keys, self.positions, binding, strict=True):
            if (known := tails.get(bound)) is None:
                encoded = encode_field(bound)
                known = tails[bound] = [middle + encoded for middle in middles]
            context = _length(len(key)) + key + _length(len(position)) + position
            for tail in known:
                draw = copy_prefix()
                draw.update(context + tail)
                for suffix in suffixes:
                    hasher = draw.copy()
                    hasher.update(suffix)
                    digests.append(hasher.digest())
                draw.update(last)
                digests.append(draw.digest())
        words = np.frombuffer(b"".join(digests), dtype="<u8")
        return words.reshape(len(self.stream_keys), coordinates, blocks * WORDS_PER_BLOCK)


@dataclass(frozen=True)
class _SomeDraws:
    """Draw for some rows of other draws."""

    draws: Draws
    rows: Integers
    all_rows: int

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        """Draw for all rows, and pick those that are wanted."""
        bindings = dict(zip(self.rows.tolist(), binding, strict=True))
        everywhere = [bindings.get(row, b"") for row in range(self.all_rows)]
        words = self.draws.words(purpose, everywhere, coordinates=coordinates, count=count)
        return words[self.rows]


def draws_of(draws: Draws, rows: Integers, all_rows: int) -> Draws:
    """Return the draws of some of `all_rows` rows: the same words, without work for others."""
    if isinstance(draws, KeyedDraws):
        return draws.taken(rows)
    return _SomeDraws(draws, rows, all_rows)


def unit_interval(words: Words) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return the top 53 bits of each word as an exact double in [0, 1).

    >>> unit_interval(np.array([0, 2**63, 2**64 - 1], dtype=np.uint64)).tolist()
    [0.0, 0.5, 0.9999999999999999]
    """
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def integers_below(words: Words, limits: Integers) -> Integers:
    """Return floor(word * limit / 2^64), exactly, for limits from 1 to 2^32.

    No integer has more than one word more than another one.

    >>> words = np.array([0, 2**63 - 1, 2**63, 2**64 - 1], dtype=np.uint64)
    >>> integers_below(words, np.array([3, 2, 2, 5])).tolist()
    [0, 0, 1, 4]
    """
    limit, half = limits.astype(np.uint64), np.uint64(32)
    high, low = words >> half, words & np.uint64(2**32 - 1)
    return ((high * limit + (low * limit >> half)) >> half).astype(np.int64)


def record_positions(topic: str, partition: int, offsets: Sequence[int]) -> ByteColumn:
    """Return the positions of releases that are triggered by source records."""
    return encode_each(column_of(offsets), encode_fields(topic, partition))


def tick_position(topic: str, tick: int, *, partition: int | None = None) -> bytes:
    """Return the position of the releases of one tick, whatever record closed it: of the users of a
    partition, or of an aggregate, which has one stream for all partitions.

    >>> tick_position("vitals", 7, partition=0) == tick_position("vitals", 7, partition=1)
    False
    """
    place = () if partition is None else (partition,)
    return encode_fields("tick", topic, *place, tick)


def end_positions(topic: str, partition: int, releases: Sequence[int]) -> list[bytes]:
    """Return the positions of releases at the end of streams, by how many came before."""
    return [encode_fields("end", topic, partition, count) for count in releases]
