"""Keep which change of policies was told last, so that the next one names it."""

from dataclasses import replace

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.flows.policies import Changes

_BYTES = 8


class LastChange:
    """Hold the offset behind the last change that was told."""

    def __init__(self) -> None:
        self.read = 0

    def __len__(self) -> int:
        return 0

    def chained(self, changes: Changes) -> Changes:
        """Return changes of which each names the one before; the last of them is kept."""
        told = []
        for one in changes.changes:
            told.append(replace(one, after=self.read))
            assert one.offset is not None
            self.read = one.offset + 1
        return replace(changes, changes=told)

    def take_changes(self) -> bytes:
        """Return a block."""
        return self.take_everything()

    def take_everything(self) -> bytes:
        """Return a block."""
        return self.read.to_bytes(_BYTES, "little")

    def apply(self, block: bytes) -> None:
        """Apply the next block; `StartRefused` if it is none."""
        if len(block) != _BYTES:
            raise StartRefused("the stored state is damaged: it does not say what was told last")
        self.read = int.from_bytes(block, "little")
