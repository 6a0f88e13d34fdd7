"""Owners who sign records, and strangers who try to pass for them.

Signatures are made here as the documentation says, by no code of Fugu.
"""

import base64
import hmac
from dataclasses import dataclass, replace
from random import Random

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.privacy.policies.household import TOPIC

HEADER = "fugu-signature"


@dataclass(frozen=True)
class Letter:
    """Hold a record of the policy topic."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()

    def signed_with(self, content: bytes) -> "Letter":
        """Return it with this header as its signature."""
        return replace(self, headers=((HEADER, content),))

    def message(self, topic: str = TOPIC) -> bytes:
        """Return what its signature is over."""
        assert self.key is not None
        assert self.value is not None
        return b"fugu policy change 1\0" + topic.encode() + b"\0" + self.key + b"\0" + self.value


@dataclass(frozen=True)
class Owner:
    """Sign as somebody with a key pair, or as one of those who share a secret."""

    name: str
    private: bytes
    shares_secret: bool = False

    def section(self) -> dict[str, object]:
        """Write it as documents have it."""
        if self.shares_secret:
            return {"name": self.name, "hmac": True}
        public = self._key.public_key().public_bytes_raw()
        return {"name": self.name, "ed25519": base64.b64encode(public).decode()}

    @property
    def _key(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.private)

    def sign(self, letter: Letter, topic: str = TOPIC) -> Letter:
        """Return the letter with a signature."""
        if self.shares_secret:
            code = hmac.digest(self.private, letter.message(topic), "sha256")
            return letter.signed_with(b"hmac " + base64.b64encode(code))
        signature = self._key.sign(letter.message(topic))
        name = self.name.encode()
        return letter.signed_with(b"ed25519 " + name + b" " + base64.b64encode(signature))


def tampered(letter: Letter, owner: Owner, other: Owner, random: Random) -> Letter:
    """Return a letter that the owner has not signed, though it says so."""
    assert letter.value is not None
    good = owner.sign(letter)
    [(name, content)] = good.headers
    match random.randrange(9):
        case 0:
            return replace(good, value=letter.value.replace(b'"effective":', b'"effective":1'))
        case 1:
            return replace(good, value=letter.value + b" ")
        case 2:
            return owner.sign(letter, "another.topic")
        case 3:
            return replace(good, value=None)
        case 4:
            return replace(good, headers=good.headers * 2)
        case 5:
            return letter.signed_with(content[:-4])
        case 6:
            flipped = base64.b64encode(random.randbytes(32 if owner.shares_secret else 64))
            return letter.signed_with(content.rsplit(b" ", 1)[0] + b" " + flipped)
        case 7:
            forged = replace(other, name=owner.name, shares_secret=owner.shares_secret)
            return forged.sign(letter)
        case _:
            return replace(letter, headers=((name, b"ed25519 nobody " + content.split()[-1]),))


def costly(letter: Letter, random: Random) -> Letter:
    """Return a letter that asks for more than anybody may: of noise, of time, or of room."""
    assert letter.value is not None
    content = orjson.loads(letter.value)
    policy = content.get("policy", {"id": content.get("id")}) | {"pattern": {"ticks": 24}}
    policy |= {"theta": 20, "interval": {"start": "2027-05-01T00:00", "end": "2027-05-02T00:00"}}
    policy.pop("calendar", None)
    match random.randrange(4):
        case 0:
            policy["interval"] = {"start": "2027-03-01T00:00", "end": "2027-12-31T00:00"}
            policy |= {"pattern": {"ticks": 1}, "theta": random.choice([0, 1])}
        case 1:
            policy["interval"] = {"start": "2027-01-02T00:00", "end": "2099-12-30T00:00"}
            policy["pattern"] = {"ticks": 1_000_000}
        case 2:
            policy["theta"] = [1] * 1_001
    return replace(letter, value=orjson.dumps(content | {"effective": 0, "policy": policy}))


def malformed(letter: Letter, random: Random) -> Letter:
    """Return a letter that is no change."""
    assert letter.value is not None
    assert letter.key is not None
    content = orjson.loads(letter.value)
    policy = content.get("policy", {})
    match random.randrange(10):
        case 0:
            return replace(letter, value=letter.value[: random.randrange(len(letter.value))])
        case 1:
            return replace(letter, key=letter.key + b"/x")
        case 2:
            return replace(letter, key=random.choice([None, b"", b"\xff/tea", b"/", b"a b"]))
        case 3:
            return replace(letter, value=orjson.dumps(content | {"surprise": 1}))
        case 4:
            return replace(letter, value=orjson.dumps(content | {"effective": "soon"}))
        case 5:
            return replace(letter, value=orjson.dumps(content | {"effective": None}))
        case 6:
            both = content | {"remove": True, "policy": policy}
            return replace(letter, value=orjson.dumps(both))
        case 7:
            other = policy | {"id": "another"}
            return replace(letter, value=orjson.dumps({"effective": 0, "policy": other}))
        case 8:
            lower = policy | {"theta": -1}
            return replace(letter, value=orjson.dumps({"effective": 0, "policy": lower}))
        case _:
            return replace(letter, value=b"[" * 100_000)
