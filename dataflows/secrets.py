"""Reading the pipeline's secret; its content never appears in an error."""

import base64
import binascii
import os

from dataflows.config import PipelineFile
from dataflows.errors import ConfigurationError
from operators.randomness import SECRET_BYTES, Secret

_HOW_TO_MAKE_ONE = (
    "make one with  "
    "python3 -c 'import secrets; print(secrets.token_hex(32))'  "
    "and keep it: without it a pipeline cannot continue"
)


def read_secret(file: PipelineFile) -> Secret:
    """The secret that the pipeline file points to."""
    source = file.pipeline.secret
    if source.env is not None:
        where = f"environment variable {source.env}"
        content = os.environb.get(os.fsencode(source.env), b"")
        if not content:
            raise ConfigurationError(f"secret: {where} is not set; {_HOW_TO_MAKE_ONE}")
    else:
        path = file.resolve(str(source.file))
        where = f"file {path}"
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ConfigurationError(
                f"secret: {where} cannot be read ({error.strerror}); {_HOW_TO_MAKE_ONE}"
            ) from None
    try:
        key = _decode(content, source.encoding)
    except (binascii.Error, ValueError):
        raise ConfigurationError(
            f"secret: {where} is not valid {source.encoding}; {_HOW_TO_MAKE_ONE}"
        ) from None
    if len(key) != SECRET_BYTES:
        raise ConfigurationError(
            f"secret: {where} holds {len(key)} bytes, but {SECRET_BYTES} are needed; "
            f"{_HOW_TO_MAKE_ONE}"
        )
    return Secret(key)


def _decode(content: bytes, encoding: str) -> bytes:
    if encoding == "raw":
        return content
    if encoding == "hex":
        return bytes.fromhex(content.decode("ascii").strip())
    return base64.b64decode(content.strip(), validate=True)
