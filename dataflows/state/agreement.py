"""Agree on a value among processes that start together: what the first one writes holds for all."""

import os
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile


def agreed(path: Path, proposal: str) -> str:
    """Return what the file holds; where there is none, write the proposal, whole and durably."""
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=path.parent) as file:
            file.write(proposal)
            file.flush()
            os.fsync(file.fileno())
            with suppress(FileExistsError):
                os.link(file.name, path)
    return path.read_text()
