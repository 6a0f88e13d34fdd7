"""Keep nothing of a partition but how far it is read, which every block of a chain says."""

from fugu.dataflows.base.errors import StartRefused


class NoRows:
    """Hold nothing."""

    def __len__(self) -> int:
        return 0

    def take_changes(self) -> bytes:
        """Return a block without rows."""
        return b""

    def take_everything(self) -> bytes:
        """Return a block without rows."""
        return b""

    def apply(self, block: bytes) -> None:
        """Apply the next block; `StartRefused` if it holds anything."""
        if block:
            raise StartRefused("the stored state is damaged: it holds rows where there are none")
