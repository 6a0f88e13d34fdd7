"""Seal entries of an internal log, so that a pipeline knows its own among those of others.

Claim. Nobody who has not got the secret makes an entry that bears a seal of this pipeline and this
log, but a copy of one that the pipeline has made: the seal is a keyed digest of key and value. What
is in the log twice, the merge takes in once.

Versions of Fugu before sealed nothing. A log that such a version has begun may hold own entries
without a seal. There, what is told of ticks counts if it has the release id that the pipeline gives
it: an id stands in the log no sooner than its entry, so a copy with other content comes too late.
Changes, marks and plans without a seal count by their keys, as they did; moves never do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from fugu.dataflows.base.batches import Header, Outgoing
from fugu.dataflows.base.columns import HeaderColumns
from fugu.dataflows.publishing.envelope import Publisher
from fugu.dataflows.records.published import SEAL_HEADER, release_id_of
from fugu.dataflows.stages.log_entries import (
    ASKING_KEY,
    COVERED_KEY,
    PLANS_KEY,
    POLICIES_KEY,
    Asking,
    Entry,
    MechanismPlan,
    PartitionsMoved,
    PoliciesCovered,
    PolicyChange,
    partition_key,
)
from fugu.dataflows.stages.partial_sums import PartialSums
from fugu.dataflows.stages.window_people import WindowPeople
from fugu.operators.byte_column import ByteColumn
from fugu.operators.byte_fields import encode_fields
from fugu.operators.keyed_prefix import KeyedPrefix
from fugu.operators.randomness import DrawScope
from fugu.operators.secret import Secret

_DIGITS = 32


@dataclass(frozen=True)
class LogSeal:
    """Seal entries that a pipeline writes to the log which is identified by `log`.

    The secret is the one of pseudonyms, which outlives a change of the key of all draws: what a
    merge has not read by then stays its own.
    """

    secret: Secret
    pipeline: str
    log: str

    def of(self, key: bytes | None, value: bytes | None) -> bytes:
        """Return the seal of an entry."""
        hasher = self._prefix.hasher.copy()
        hasher.update(encode_fields(key or b"", value or b""))
        return hasher.hexdigest()[:_DIGITS].encode()

    def onto(self, outgoing: Outgoing) -> Outgoing:
        """Return the same records with their seals."""
        pairs = zip(outgoing.keys, outgoing.values, strict=True)
        seals, headers = [self.of(key, value) for key, value in pairs], outgoing.headers
        sealed: Sequence[list[Header]]
        if isinstance(headers, HeaderColumns):
            contents = {**headers.contents, SEAL_HEADER: ByteColumn.of(seals)}
            sealed = HeaderColumns(len(seals), contents)
        else:
            both = zip(headers, seals, strict=True)
            sealed = [[*others, (SEAL_HEADER, seal)] for others, seal in both]
        return replace(outgoing, headers=sealed)

    @cached_property
    def _prefix(self) -> KeyedPrefix:
        return KeyedPrefix(self.secret, "fugu-log-seal-v1", self.pipeline, self.log)


@dataclass(frozen=True)
class OwnLog:
    """Tell entries that bear the own `seal`; all do if the log is `sealed`.

    `scope` gives others their ids.
    """

    seal: LogSeal
    scope: DrawScope
    sealed: bool

    @classmethod
    def of(cls, publisher: Publisher, log: str, *, sealed: bool) -> "OwnLog":
        """Return what tells entries of the pipeline of a publisher."""
        scope = publisher.scope
        return cls(LogSeal(publisher.pseudonyms.secret, scope.pipeline, log), scope, sealed)

    def may_hold(self, key: bytes | None, value: bytes | None, headers: list[Header]) -> bool:
        """Return whether a record has its seal, or has none and may need none."""
        seal = _seal_in(headers)
        return not self.sealed if seal is None else seal == self.seal.of(key, value)

    def holds(self, key: bytes | None, headers: list[Header], entry: Entry) -> bool:
        """Return whether the pipeline wrote this entry, of a record that the log `may_hold`."""
        if _seal_in(headers) is not None:
            return True
        name = _named(entry)
        if isinstance(name, bytes):
            return key == name
        return name is not None and name[0] == key and self._id_of(*name) == release_id_of(headers)

    def _id_of(self, key: bytes, part: int, tick: int) -> bytes:
        [name] = self.scope.tick_release_ids(self.seal.log, [key], [part], [tick])
        return bytes(name)


def _seal_in(headers: list[Header]) -> bytes | None:
    return next((content for name, content in headers if name == SEAL_HEADER), None)


def _named(entry: Entry) -> tuple[bytes, int, int] | bytes | None:
    """Return key, part and tick by which an entry has an id, or its key alone; None if nothing
    tells it without a seal."""
    match entry:
        case PartialSums() | WindowPeople():
            return partition_key(entry.partition), entry.part, entry.tick
        case Asking():
            return ASKING_KEY, 0, entry.tick
        case PolicyChange():
            return POLICIES_KEY
        case PoliciesCovered():
            return COVERED_KEY
        case MechanismPlan():
            return PLANS_KEY
        case PartitionsMoved():
            return None
