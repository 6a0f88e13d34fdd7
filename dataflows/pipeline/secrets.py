"""Read the secrets of a pipeline; their content never appears in an error."""

import base64
import binascii
import os
from pathlib import Path
from secrets import token_bytes
from typing import Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.sections import SecretSource
from fugu.operators.keys import Keys
from fugu.operators.randomness import SECRET_BYTES, Secret

_HEX = r"^[0-9a-f]{64}$"
_HOW_TO_MAKE_ONE = (
    "make one with  "
    "python3 -c 'import secrets; print(secrets.token_hex(32))'  "
    "and keep it: without it nothing can continue that was begun with it"
)
_HOW_TO_LEAVE_ZEROS = (
    f"{_HOW_TO_MAKE_ONE}. A pipeline that has run with zeros goes on with new noise after  "
    "fugu state rotate PIPELINE --keys FILE  but what it has released stays open"
)


class KeyFile(BaseModel):
    """Hold the keys of one key epoch in hexadecimal, as `fugu state rotate` writes them."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)

    format: Literal["fugu-keys-1"]
    epoch: int = Field(ge=0)
    noise: str = Field(pattern=_HEX, repr=False)
    pseudonyms: str = Field(pattern=_HEX, repr=False)


def write_keys(keys: Keys, path: Path) -> None:
    """Write a key file, readable by its owner only; one that is there must hold the same keys."""
    content = {
        "format": "fugu-keys-1",
        "epoch": keys.epoch,
        "noise": keys.noise.reveal().hex(),
        "pseudonyms": keys.pseudonyms.reveal().hex(),
    }
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        if orjson.loads(path.read_bytes()) == content:
            return
        raise ConfigurationError(f"{path} is there already; name a file that is not") from None
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written ({error.strerror})") from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(orjson.dumps(content, option=orjson.OPT_INDENT_2))
        file.flush()
        os.fsync(file.fileno())


def keys_after(before: Keys, path: Path) -> Keys:
    """Return the keys of the next epoch, which `path` is to hold.

    After a secret of zeros, whose successors everybody can derive, they are made anew. A rotation
    that was interrupted finds them in `path`.
    """
    if any(before.noise.reveal()):
        return before.rotated()
    if path.exists():
        found = _keys_in(path.read_bytes(), f"file {path}")
        if found.epoch == before.epoch + 1:
            return found
    return Keys(Secret(token_bytes(SECRET_BYTES)), before.pseudonyms, before.epoch + 1)


def read_keys(file: PipelineFile, *, to_leave_them: bool = False) -> Keys:
    """Read the keys that the pipeline file points to.

    A secret of zeros is refused, except `to_leave_them`: a pipeline that has one can be rotated.
    """
    source = file.pipeline.secret
    where, content = _found(file, "secret", source)
    if source.encoding == "keys":
        return _keys_in(content, where)
    secret = _secret(source, "secret", where, content)
    if not to_leave_them:
        _refuse_zeros(secret, "secret", where, _HOW_TO_LEAVE_ZEROS)
    return Keys.from_root(secret)


def read_policy_secret(file: PipelineFile) -> Secret | None:
    """Read the secret by which owners sign changes of policies, if the pipeline file has one."""
    policies, name = file.pipeline.source.policies, "source.policies.hmac"
    if policies is None or policies.hmac is None:
        return None
    where, content = _found(file, name, policies.hmac)
    secret = _secret(policies.hmac, name, where, content)
    _refuse_zeros(secret, name, where, _HOW_TO_MAKE_ONE)
    return secret


def read_state_secret(file: PipelineFile) -> Secret | None:
    """Read the secret that encrypts a state in Kafka, if the pipeline file has one."""
    source, name = file.pipeline.state.encrypt, "state.encrypt"
    if source is None:
        return None
    where, content = _found(file, name, source)
    secret = _secret(source, name, where, content)
    _refuse_zeros(secret, name, where, _HOW_TO_MAKE_ONE)
    return secret


def _found(file: PipelineFile, name: str, source: SecretSource) -> tuple[str, bytes]:
    """Return where a secret is, and what is there."""
    if source.env is not None:
        where = f"environment variable {source.env}"
        content = os.environb.get(os.fsencode(source.env), b"")
        if not content:
            raise ConfigurationError(f"{name}: {where} is not set; {_HOW_TO_MAKE_ONE}")
        return where, content
    path = file.resolve(str(source.file))
    try:
        return f"file {path}", path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"{name}: file {path} cannot be read ({error.strerror}); {_HOW_TO_MAKE_ONE}"
        ) from None


def _secret(source: SecretSource, name: str, where: str, content: bytes) -> Secret:
    try:
        key = _decode(content, source.encoding)
    except (binascii.Error, ValueError):
        raise ConfigurationError(
            f"{name}: {where} is not valid {source.encoding}; {_HOW_TO_MAKE_ONE}"
        ) from None
    if len(key) != SECRET_BYTES:
        raise ConfigurationError(
            f"{name}: {where} holds {len(key)} bytes, but {SECRET_BYTES} are needed; "
            f"{_HOW_TO_MAKE_ONE}"
        )
    return Secret(key)


def _refuse_zeros(secret: Secret, name: str, where: str, advice: str) -> None:
    if not any(secret.reveal()):
        raise ConfigurationError(
            f"{name}: {where} holds zeros only: everybody can repeat what is made with it; {advice}"
        )


def _keys_in(content: bytes, where: str) -> Keys:
    try:
        found = KeyFile.model_validate(orjson.loads(content))
    except (orjson.JSONDecodeError, ValidationError):
        raise ConfigurationError(
            f"secret: {where} is not a key file of fugu state rotate; restore it"
        ) from None
    noise, pseudonyms = (Secret(bytes.fromhex(key)) for key in (found.noise, found.pseudonyms))
    return Keys(noise, pseudonyms, found.epoch)


def _decode(content: bytes, encoding: str) -> bytes:
    if encoding == "raw":
        return content
    if encoding == "hex":
        return bytes.fromhex(content.decode("ascii").strip())
    return base64.b64decode(content.strip(), validate=True)
