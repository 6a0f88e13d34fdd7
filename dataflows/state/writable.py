"""Find out whether a directory could be made and written, and change nothing."""

import os
import stat
from collections.abc import Iterable
from errno import EACCES, EEXIST, ENOSPC, EROFS
from pathlib import Path


def require_room(path: Path) -> None:
    """Raise the `OSError` that making this directory, or writing into it, would meet."""
    try:
        is_directory = stat.S_ISDIR(path.stat().st_mode)
    except FileNotFoundError:
        return require_room(path.parent)
    if not is_directory:
        raise _error(EEXIST, path)
    require_access([path])
    disk, privileged = os.statvfs(path), os.geteuid() == 0
    blocks = disk.f_bfree if privileged else disk.f_bavail
    names = disk.f_ffree if privileged else disk.f_favail
    if (disk.f_blocks and not blocks) or (disk.f_files and not names):
        raise _error(ENOSPC, path)


def require_access(paths: Iterable[Path]) -> None:
    """Raise the `OSError` that writing these files, and into these folders, would meet."""
    for path in paths:
        wanted = os.R_OK | os.W_OK | (os.X_OK if path.is_dir() else 0)
        if not os.access(path, wanted, effective_ids=os.access in os.supports_effective_ids):
            read_only = os.statvfs(path).f_flag & os.ST_RDONLY
            raise _error(EROFS if read_only else EACCES, path)


def _error(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))
