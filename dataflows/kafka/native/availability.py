"""Say whether compiled code can call librdkafka here.

A self-test that was passed is remembered beside the compiled code, by the library and the packages
that took part.
"""

import ctypes
import os.path
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from importlib.util import find_spec
from platform import python_version
from sys import byteorder

_PACKAGES = ("confluent-kafka", "llvmlite", "numba", "numpy")
_MAJOR_VERSION = 2
_WORD_BYTES = 8


@cache
def refusal() -> str | None:
    """Say what keeps compiled code from calling librdkafka here; None if nothing does."""
    for name, module in (("confluent-kafka", "confluent_kafka"), ("numba", "numba")):
        if find_spec(module) is None:
            return f"{name} is not installed"
    if byteorder != "little" or ctypes.sizeof(ctypes.c_void_p) != _WORD_BYTES:
        return "this machine has other integers or addresses"
    try:
        return _found_by_testing()
    except Exception as error:  # however this library differs, there is another client
        return f"its self-test ended with {type(error).__name__}: {error}"


def _found_by_testing() -> str | None:
    from fugu.dataflows.kafka.native import library

    if library.library().rd_kafka_version() >> 24 != _MAJOR_VERSION:
        return f"librdkafka {library.version()} is none of version {_MAJOR_VERSION}"
    mark = f"librdkafka-{_digest(library.path().read_bytes())}"
    if _is_remembered(mark):
        return None
    from fugu.dataflows.kafka.native.self_test import difference

    found = difference()
    if found is None:
        _remember(mark)
    return found


def _digest(content: bytes) -> str:
    """Identify all that the outcome depends on, but for the code, which the folder is named by."""
    digest = blake2b(content, digest_size=16)
    for part in [python_version(), *map(version, _PACKAGES)]:
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()


def _is_remembered(mark: str) -> bool:
    from fugu.operators.compiled.folders import folders

    # A folder of somebody else cannot be looked into, of which `Path.exists` makes an error.
    return any(os.path.exists(folder / mark) for folder in folders())


def _remember(mark: str) -> None:
    from fugu.operators.compiled.folders import folders

    for folder in folders():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / mark).touch()
            return
        except OSError:
            continue
