"""Compile texts of Protocol Buffers by the compiler of their authors, which grpcio-tools carries.

It runs in a process of its own: a text that breaks it breaks nothing else.
"""

import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from fugu.dataflows.base.errors import ConfigurationError, FuguError
from fugu.dataflows.base.install import install

MAIN = "fugu-main.proto"
"""The name of the file that others are imported into."""
_REFUSED = 1


class UnusableText(ValueError):
    """Report that a text is nothing that the compiler takes."""


def refuse_without_compiler() -> None:
    """Raise `ConfigurationError` where the compiler is not installed."""
    if find_spec("grpc_tools") is None or find_spec("google.protobuf") is None:
        raise ConfigurationError(
            f"source.format: kind: protobuf needs the extra protobuf: {install('protobuf')}"
        )


def descriptors_of(text: str, imported: Mapping[str, str]) -> bytes:
    """Return the serialized `FileDescriptorSet` of a text and all that it imports.

    Types that come with Protocol Buffers, such as Timestamp, are there. `UnusableText` says that
    the compiler refuses it. What the compiler prints is left aside: it could quote the text.
    """
    with TemporaryDirectory(prefix="fugu-proto-") as name:
        directory = Path(name)
        for file, content in {**imported, MAIN: text}.items():
            path = PurePosixPath(file)
            if path.is_absolute() or ".." in path.parts or not path.parts:
                raise UnusableText("imports a file outside of its own folder")
            target = directory / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content, encoding="utf-8")
        return _compiled(directory)


def _compiled(directory: Path) -> bytes:
    result = directory / "fugu-result"
    command = [sys.executable, "-P", "-m", "grpc_tools.protoc", f"--proto_path={directory}"]
    command += ["--include_imports", f"--descriptor_set_out={result}", MAIN]
    ended = subprocess.run(command, cwd=directory, capture_output=True, check=False)
    if ended.returncode == _REFUSED:
        raise UnusableText("is no schema of Protocol Buffers")
    if ended.returncode != 0:  # nobody knows what it would have said
        raise FuguError(f"the compiler of Protocol Buffers ended with {ended.returncode}")
    return result.read_bytes()
