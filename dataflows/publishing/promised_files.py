"""Hold files that an operator names in a promise, and give them to whoever builds the law again."""

import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.pipeline.pipeline_file import PipelineFile

LARGEST_FILE = 512 * 1024
"""Compressed contents of more bytes do not fit a Kafka message beside the rest."""
LARGEST_CONTENT = 64 * 1024 * 1024
"""No more bytes are unpacked, whatever a promise of others says."""


class Part(BaseModel):
    """Ignore keys of later versions, so that an older reader goes on."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class PromisedFile(Part):
    """Hold a file that the operator names."""

    bytes: int
    """The length of the file."""
    content: str | None
    """The file, compressed by zlib and written in base64; null where it is too large, or where the
    pipeline keeps it back (`sink.promise`)."""


def promised_file(path: Path, *, held: bool) -> PromisedFile:
    content = path.read_bytes()
    packed = zlib.compress(content, 9) if held and len(content) <= LARGEST_CONTENT else None
    if packed is None or len(packed) > LARGEST_FILE:
        return PromisedFile(bytes=len(content), content=None)
    return PromisedFile(bytes=len(content), content=b64encode(packed).decode())


class NamedFiles:
    """Find files as a pipeline file does, and note which ones are asked for.

    `found` has them by names without directories, which are nobody's business.
    """

    def __init__(self, file: PipelineFile) -> None:
        self.found: dict[str, Path] = {}
        self._file = file
        self._names: dict[str, str] = {}

    def resolve(self, relative: str) -> Path:
        """Return the path of a file that the section names."""
        path = self._file.resolve(relative)
        if relative not in self._names:
            name, number = path.name, 1
            while name in self.found:
                number += 1
                name = f"{number}-{path.name}"
            self._names[relative], self.found[name] = name, path
        return path

    def without_directories(self, declared: Any) -> Any:
        """Return the section with the names of files instead of their paths."""
        match declared:
            case str():
                return self._names.get(declared, declared)
            case dict():
                return {name: self.without_directories(one) for name, one in declared.items()}
            case list():
                return [self.without_directories(one) for one in declared]
            case _:
                return declared


class GivenFiles:
    """Find files in a promise, or among those that the reader gives."""

    def __init__(
        self, files: Mapping[str, PromisedFile], given: Mapping[str, Path], folder: Path
    ) -> None:
        self._files, self._given, self._folder = files, given, folder

    def resolve(self, relative: str) -> Path:
        """Return the path of a file that the section names, written where it can be read."""
        if relative in self._given:
            return self._given[relative]
        held = self._files.get(relative)
        if held is None or held.content is None:
            raise ConfigurationError(
                f"the promise does not hold the file {relative}: it is too large for it, or the "
                f"pipeline keeps it back (sink.promise). Give it as files={{{relative!r}: PATH}}"
            )
        path = self._folder / str(len(list(self._folder.iterdir())))
        path.write_bytes(_unpacked(relative, held.content))
        return path


def _unpacked(name: str, content: str) -> bytes:
    """Return the contents of a file; others may have written them."""
    unpacking = zlib.decompressobj()
    try:
        unpacked = unpacking.decompress(b64decode(content), LARGEST_CONTENT + 1)
    except (ValueError, zlib.error):
        raise ConfigurationError(f"the promise holds a file {name} that is damaged") from None
    if len(unpacked) > LARGEST_CONTENT:
        raise ConfigurationError(
            f"the promise holds a file {name} of more than {LARGEST_CONTENT:,} bytes, which no "
            f"version of Fugu writes. Give your own as files={{{name!r}: PATH}}"
        )
    return unpacked
