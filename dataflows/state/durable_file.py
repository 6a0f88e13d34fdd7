"""Replace a file whole and durably: whatever ends the process, its old or its new content is there.

The caller decides what an `OSError` means.
"""

import os
from pathlib import Path


def replace_durably(path: Path, content: bytes) -> None:
    """Write a file beside, only for its owner, and rename it, in a folder that is synced then."""
    unfinished = path.with_suffix(".new")
    descriptor = os.open(unfinished, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
