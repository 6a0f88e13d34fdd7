"""Seal entries of an internal log, so that a pipeline knows its own among those of others.

Claim. Nobody who has not got the secret makes an entry that bears a seal of this pipeline and this
log, but an exact copy of one that the pipeline has made: the seal is a keyed digest of key, value,
timestamp and all other headers. These say which entry it is: partition, tick and part of what is
told of ticks, the offset of a change of policies, the tick of a question or a plan. By that the
merge takes in once what is in the log twice, wherever the copy stands.

What the pipeline has written and not committed may be copied as well. So an entry must be true of
every log in which what was committed before it stands in front of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hmac import compare_digest

from fugu.dataflows.base.batches import Header, Outgoing
from fugu.dataflows.base.columns import HeaderColumns
from fugu.dataflows.publishing.envelope import Publisher
from fugu.dataflows.records.published import SEAL_HEADER, fields_of
from fugu.operators.columns import ByteColumn, encode_fields
from fugu.operators.randomness import KeyedPrefix, Secret

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

    @classmethod
    def by(cls, publisher: Publisher, log: str) -> "LogSeal":
        """Return the seal of the pipeline of a publisher."""
        return cls(publisher.pseudonyms.secret, publisher.scope.pipeline, log)

    def of(
        self, key: bytes | None, value: bytes | None, headers: Sequence[Header], timestamp: int
    ) -> bytes:
        """Return the seal of an entry, behind its other headers.

        Timestamp 0 is that of 1, as which copies write it.
        """
        hasher = self._prefix.hasher.copy()
        named = fields_of(headers)
        hasher.update(encode_fields(key or b"", value or b"", timestamp or 1, *named))
        return hasher.hexdigest()[:_DIGITS].encode()

    def is_on(
        self, key: bytes | None, value: bytes | None, headers: Sequence[Header], timestamp: int
    ) -> bool:
        """Return whether a record bears its seal, which is the last header."""
        if not headers or headers[-1][0] != SEAL_HEADER:
            return False
        seal = headers[-1][1] or b""
        return compare_digest(seal, self.of(key, value, headers[:-1], timestamp))

    def onto(self, outgoing: Outgoing) -> Outgoing:
        """Return the same records with their seals."""
        headers = outgoing.headers
        columns = outgoing.keys, outgoing.values, headers, outgoing.timestamps
        seals = [self.of(*record) for record in zip(*columns, strict=True)]
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
