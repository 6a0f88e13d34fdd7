"""Compile texts of Protocol Buffers by the compiler of their authors, which grpcio-tools carries.

It runs in a process of its own: a text that breaks it breaks nothing else.
"""

import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from fugu.dataflows.base.errors import ConfigurationError, FuguError, is_of_one_record
from fugu.dataflows.base.install import install

MAIN = "fugu-main.proto"
"""The name of the file that others are imported into."""
SECONDS = 10.0
_LARGEST_RESULT = 16_000_000
_LIMITED = f"""
import resource, runpy, sys
for name, most in [("CPU", {SECONDS:.0f}), ("AS", 2 << 30), ("FSIZE", {_LARGEST_RESULT})]:
    try:
        resource.setrlimit(getattr(resource, "RLIMIT_" + name), (most, most))
    except (ValueError, OSError):  # not every system has each limit
        pass
sys.argv[0] = "protoc"
runpy.run_module("grpc_tools.protoc", run_name="__main__")
"""


class UnusableText(ValueError):
    """Report that a text is nothing that the compiler takes."""


class CannotCompile(FuguError):
    """Report that nothing can be compiled now, whatever a text says."""

    def __init__(self, error: OSError) -> None:
        super().__init__(
            f"a schema of Protocol Buffers cannot be compiled here ({type(error).__name__}): there "
            "must be room for temporary files (TMPDIR) and for another process. Its records wait "
            "for the next start"
        )


def refuse_without_compiler() -> None:
    """Raise `ConfigurationError` where the compiler is not installed."""
    if find_spec("grpc_tools") is None or find_spec("google.protobuf") is None:
        raise ConfigurationError(
            f"source.format: kind: protobuf needs the extra protobuf: {install('protobuf')}"
        )


def descriptors_of(text: str, imported: Mapping[str, str], seconds: float = SECONDS) -> bytes:
    """Return the serialized `FileDescriptorSet` of a text and all that it imports.

    Types that come with Protocol Buffers, such as Timestamp, are there. `UnusableText` says that
    the compiler refuses it, or does not end in so many seconds; `CannotCompile` that no text can be
    compiled. What the compiler prints is left aside: it could quote the text.
    """
    try:
        with TemporaryDirectory(prefix="fugu-proto-") as name:
            texts = Path(name) / "texts"
            for file, content in {**imported, MAIN: text}.items():
                _write(texts, file, content)
            return _compiled(texts, Path(name) / "result", seconds)
    except OSError as error:
        raise CannotCompile(error) from None


def _write(texts: Path, file: str, content: str) -> None:
    path = PurePosixPath(file)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in file:
        raise UnusableText("imports a file outside of its own folder")
    target = texts / path
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")
    except (OSError, UnicodeError) as error:  # such as files named a and a/b
        if not is_of_one_record(error):
            raise
        raise UnusableText(f"cannot be compiled ({type(error).__name__})") from None


def _compiled(texts: Path, result: Path, seconds: float) -> bytes:
    command = [sys.executable, "-P", "-c", _LIMITED, f"--proto_path={texts}"]
    command += ["--include_imports", f"--descriptor_set_out={result}", MAIN]
    try:
        ended = subprocess.run(
            command,
            cwd=texts,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        raise UnusableText("takes too long to compile") from None
    if ended.returncode != 0:  # the compiler refuses it, or ended by a signal
        raise UnusableText("is no schema of Protocol Buffers")
    return result.read_bytes()
