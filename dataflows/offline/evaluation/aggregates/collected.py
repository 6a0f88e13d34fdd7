"""Run both halves of LDP-IDS over a sample, with the code of `fugu run`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fugu.dataflows.base.batches import DeadLetters, Decoded
from fugu.dataflows.stages.merging import MergeState, Merging
from fugu.dataflows.stages.private_reports import PrivateReports
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.mechanism import Releases


@dataclass
class Collected:
    """Take the records of one partition in, and ask its users what the collector asks."""

    stage: PrivateReports
    merge: Merging

    def __post_init__(self) -> None:
        self.table = RowTable(self.stage.start)
        self.state: MergeState = self.merge.start()
        self.dead = DeadLetters()

    def released(self, batches: Iterable[Decoded]) -> Iterator[tuple[int, Releases]]:
        """Yield ticks and what is released for them."""
        for decoded in batches:
            left: Decoded | None = decoded
            while left is not None:
                made, left, _ = self.stage.advance(left, self.table)
                self.dead.extend(made.dead)
                for partial in made.partials:
                    yield from self.merge(self.state, partial)
                    if (asking := self.merge.asking(self.state)) is not None:
                        self.stage.hear(self.table, asking)
