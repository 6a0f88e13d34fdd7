"""Read and write claims of a state: records of partition 0 of a topic, whose offsets order them.

The key is a JSON list of four: `["lease", pipeline, unit, token]`. A claim names the one `before`
and counts one more; so it can only count where that one was the last. Of those with the largest
number, the first one counts. All others can go: compaction may remove any of them, and what is left
still says the same.
"""

import time
from dataclasses import dataclass, field
from typing import Any

import orjson

from fugu.dataflows.base.batches import Batch

_FORMAT = 1


@dataclass(frozen=True)
class Claim:
    """Say that a state of a unit is used by whoever has the token.

    `host` and `at` are for people only.
    """

    token: str
    before: str
    number: int
    host: str
    at: str

    def value(self) -> bytes:
        """Return the value of its record."""
        content = {name: value for name, value in vars(self).items() if name != "token"}
        return orjson.dumps({"format": _FORMAT, "kind": "lease", **content})


@dataclass
class Claims:
    """Hold the claims of one unit that were read so far."""

    holder: Claim | None = None
    known: set[str] = field(default_factory=set)
    """Tokens of all records that compaction cannot remove yet."""

    def add(self, claim: Claim) -> None:
        """Take the next claim of the log in."""
        self.known.add(claim.token)
        if self.holder is None or claim.number > self.holder.number:
            self.holder = claim

    def next(self, token: str, host: str) -> Claim:
        """Return a claim that counts if it is the first one behind the holder of now."""
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        if self.holder is None:
            return Claim(token, "", 1, host, at)
        return Claim(token, self.holder.token, self.holder.number + 1, host, at)


def claim_key(pipeline: str, unit: str, token: str) -> bytes:
    """Return the key of a claim."""
    return orjson.dumps(["lease", pipeline, unit, token])


def read_claims(batch: Batch, pipeline: str, into: dict[str, Claims]) -> None:
    """Take the claims that a batch of the topic holds of one pipeline in, by unit."""
    for _, _, key, value, _ in batch.records():
        match _json(key):
            case ["lease", str(name), str(unit), str(token)] if name == pipeline:
                claims = into.setdefault(unit, Claims())
                if value is None:
                    claims.known.discard(token)
                elif claim := _claim(token, value):
                    claims.add(claim)


def _claim(token: str, value: bytes) -> Claim | None:
    match _json(value):
        case {
            "kind": "lease",
            "before": str(before),
            "number": int(number),
            "host": str(host),
            "at": str(at),
        }:
            return Claim(token, before, number, host, at)
    return None


def _json(content: bytes | None) -> Any:
    try:
        return orjson.loads(content or b"null")
    except orjson.JSONDecodeError:
        return None
