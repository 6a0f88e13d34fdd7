"""Count refused starts over the life of a state: a refused process leaves no other number.

A file of one byte for each refusal, beside the shards. Appending a byte needs no lock, so a process
that was refused because another one owns the state may count, too: the owner then shows it.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.pipeline.pipeline_file import PipelineFile

_FILE = "refused-starts"


@dataclass(frozen=True)
class RefusedStarts:
    """Keep the count in one state directory; where there is none, nobody counts."""

    directory: Path | None

    @classmethod
    def of(cls, file: PipelineFile) -> "RefusedStarts":
        """Return the count of a pipeline."""
        state = file.pipeline.state
        return cls(None if state.in_kafka else file.resolve(state.directory))

    def count(self, error: BaseException | None) -> None:
        """Count a refusal; where it cannot be written down, the text of the refusal is enough."""
        if not isinstance(error, StartRefused) or self.directory is None:
            return
        with suppress(OSError):
            path = self.directory / _FILE
            descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(b".")

    def total(self) -> int:
        """Return the count so far."""
        if self.directory is None:
            return 0
        try:
            return (self.directory / _FILE).stat().st_size
        except OSError:
            return 0
