"""Go on with new certificates and passwords: stop gracefully and start again once files changed.

Clients read them when they are made. A certificate that is renewed while a pipeline runs would
otherwise count at the next restart only, and an expired one end every new connection.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from threading import Event, Thread

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.kafka.schema_registry import RegistrySection
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.source_section import RecordFormat

_LOOK_SECONDS = 10.0

log = logging.getLogger(__name__)

Content = tuple[bytes, ...]


@dataclass
class Renewal:
    """Look at the files of `kafka.security` and of the registry that is read from, and decide once
    others are there and can be used.

    Files that belong together are written one after the other, so nothing is decided before all are
    as they were at the look before.
    """

    file: PipelineFile
    seconds: float = _LOOK_SECONDS
    decided: bool = field(default=False, init=False)
    """Say whether the pipeline stops to start again."""
    _refused: Content = field(default=(), init=False)
    _ended: Event = field(default_factory=Event, init=False)

    def __post_init__(self) -> None:
        self._files = self.file.pipeline.kafka.security.files(self.file.resolve)
        if self._registry is not None:
            self._files += self._registry.files(self.file.resolve)
        self._used = self._before = self._content()

    def watch(self, stop: Callable[[], None]) -> None:
        """Look now and then, and stop the pipeline when it is to start again."""
        if self._files:
            Thread(target=self._watch, args=(stop,), name="renewal", daemon=True).start()

    def close(self) -> None:
        """Look no more."""
        self._ended.set()

    def is_due(self) -> bool:
        """Return whether other files are there since the start, at rest, which can be used."""
        content = self._content()
        at_rest, self._before = content == self._before, content
        if not at_rest or content in (self._used, self._refused):
            return False
        try:
            self.file.connection()
            if self._registry is not None:
                self._registry.settings(self.file.resolve)
        except ConfigurationError as error:
            self._refused = content
            log.warning("%s The pipeline goes on with what it read at its start.", error)
            return False
        return True

    def _watch(self, stop: Callable[[], None]) -> None:
        while not self._ended.wait(self.seconds):
            if self.is_due():
                log.info(
                    "certificates or passwords have changed: stopping to start again with them"
                )
                self.decided = True
                return stop()

    @property
    def _registry(self) -> RegistrySection | None:
        section = self.file.pipeline.source.format
        return section.registry if isinstance(section, RecordFormat) else None

    def _content(self) -> Content:
        return tuple(map(_digest, self._files))


def _digest(path: Path) -> bytes:
    """Return a digest of a file; nothing where it cannot be read."""
    try:
        return blake2b(path.read_bytes(), digest_size=16).digest()
    except OSError:
        return b""
