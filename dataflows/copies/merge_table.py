"""Keep the state of a merge as blocks of a chain.

    u32 length of the state, state, block of sums

Every block holds the whole state, which is small, and the last one counts. Sums of ticks that wait
are in it once, when they came, however long they wait.
"""

from collections.abc import Callable

from fugu.dataflows.flows.merger import Merger
from fugu.dataflows.stages.merging import MergeState, Merging, OpenTicks
from fugu.dataflows.state.row_block import read

_SIZE_BYTES = 4


class MergeTable:
    """Hold the `state` of a merge, which `begin` goes on with; without one, it is read."""

    def __init__(
        self,
        merge: Merging,
        begin: Callable[[MergeState], Merger],
        state: MergeState | None = None,
    ) -> None:
        self._merge, self._begin = merge, begin
        self._content: bytes | None = None
        self._sums = OpenTicks()
        self._state = state
        self._merger: Merger | None = None

    def __len__(self) -> int:
        """Return how many budgets there are: all groups share one."""
        return len(self._merge.streams)

    @property
    def merger(self) -> Merger:
        """Return what merges into the state; once it has begun, no block is applied."""
        if self._merger is None:
            self._merger = self._begin(self.state)
        return self._merger

    @property
    def state(self) -> MergeState:
        """Return the state, as it was read or as the merge has left it."""
        if self._state is None:
            content, merge = self._content, self._merge
            self._state = (
                merge.start() if content is None else merge.restored(content, lambda _: self._sums)
            )
        return self._state

    def take_changes(self) -> bytes:
        """Return a block with the state, and with sums that came or went since the last one."""
        return _block(self.state, self.state.open.take_changes())

    def take_everything(self) -> bytes:
        """Return a block that makes all of it when applied to nothing."""
        return _block(self.state, self.state.open.take_everything())

    def apply(self, block: bytes) -> None:
        """Apply the next block; `StartRefused` if it is damaged."""
        end = _SIZE_BYTES + int.from_bytes(block[:_SIZE_BYTES], "little")
        content = block[_SIZE_BYTES:end]
        read(content)
        self._sums.apply(block[end:])
        self._content = content


def _block(state: MergeState, sums: bytes) -> bytes:
    content = state.encoded()
    return b"".join([len(content).to_bytes(_SIZE_BYTES, "little"), content, sums])
