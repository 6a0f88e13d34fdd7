"""Name the owners of collections: who alone may make a protection smaller."""

import base64
import binascii
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from fugu.dataflows.base.section import Section
from fugu.dataflows.policies.fields import Identifier

_KEY_BYTES = 32
_FIELD = 2**255 - 19
_OF_ORDER_8 = int.from_bytes(
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
)
_OF_SMALL_ORDER = {0, 1, _FIELD - 1, _FIELD, _FIELD + 1, _OF_ORDER_8, _FIELD - _OF_ORDER_8}
"""The y of all points of small order, in every way to write them. A signature for such a key can be
made without a private one."""


def of_base64(written: str) -> bytes | None:
    """Return bytes; None unless this is how base64 writes them, of several ways the only one."""
    try:
        content = base64.b64decode(written, validate=True)
    except (binascii.Error, ValueError):
        return None
    return content if base64.b64encode(content).decode() == written else None


def _public_key(written: str) -> str:
    key = of_base64(written)
    if key is None or len(key) != _KEY_BYTES:
        raise ValueError(
            "write the 32 bytes of a public key in base64, as fugu policy keys prints them"
        )
    if int.from_bytes(key, "little") % 2**255 in _OF_SMALL_ORDER:
        raise ValueError(
            "is no key: anybody can sign for it; write one that fugu policy keys has made"
        )
    return written


PublicKey = Annotated[str, AfterValidator(_public_key)]


class OwnerSection(Section):
    """Name an owner, who has the private key of a public one, or the secret of the pipeline."""

    name: Identifier
    ed25519: PublicKey | None = None
    hmac: Literal[True] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.ed25519 is None) == (self.hmac is None):
            raise ValueError("write either ed25519: PUBLIC_KEY or hmac: true")
        return self

    @property
    def public_key(self) -> bytes | None:
        """Return the 32 bytes of the key; None where a secret is shared."""
        return None if self.ed25519 is None else base64.b64decode(self.ed25519)


Owners = Annotated[list[OwnerSection], Field(min_length=1)]
