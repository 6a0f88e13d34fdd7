"""Look at a state directory as a start does, and change nothing."""

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
