"""Look at a state directory as a start does, and change nothing."""

from fugu.dataflows.state.directory import StateDirectory
from fugu.dataflows.state.fingerprint import Fingerprint
from fugu.dataflows.state.writable import require_access, require_room


class LookingDirectory(StateDirectory):
    """Refuse what a start refuses, but for being in use; nothing is locked or created."""

    def lock(self) -> None:
        """Refuse a state whose directories are being exchanged, or that could not be written."""
        self.refuse_while_exchanged()
        try:
            require_room(self.path)
            for folder in (self.path, self.recovery, self.rows):
                require_access(folder.glob("*"))
        except OSError as error:
            raise self.unusable(error) from None

    def create(self, fingerprint: Fingerprint) -> Fingerprint:
        """Begin no state."""
        return fingerprint
