"""Look at a state directory as a start does, and change nothing."""

import fcntl
import os

from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.fingerprint import Fingerprint


class LookingDirectory(StateDirectory):
    """Refuse what a start refuses, but for being in use; nothing is locked or created."""

    def lock(self) -> None:
        """Refuse a state whose directories are being exchanged."""
        self.refuse_while_exchanged()

    def create(self, fingerprint: Fingerprint) -> None:
        """Begin no state."""
        return

    @property
    def is_in_use(self) -> bool:
        """Return whether a process owns the directory now."""
        try:
            descriptor = os.open(self.path / "lock", os.O_RDONLY)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False
