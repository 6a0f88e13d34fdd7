"""Notice that something else writes to the internal log of an aggregate."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fugu.dataflows.base.metrics import FOREIGN_WRITES, Metrics
from fugu.dataflows.monitoring.notices import Kind, Notice, Unmoved

_FOR_SECONDS = 600.0


@dataclass(frozen=True)
class ForeignEntries:
    """Look whether the merge has passed records of others over in the last ten minutes."""

    log: str
    metrics: Metrics
    _unmoved: Unmoved = field(default_factory=Unmoved)

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said."""
        count = self.metrics.values(FOREIGN_WRITES).get((self.log, "0"), 0)
        if count and self._unmoved.seconds("count", count, now) < _FOR_SECONDS:
            text = (
                f"topic {self.log} (sink.partials): something else writes to it, {count:,.0f} "
                "records so far. They do not count. If it is another pipeline, give it a topic of "
                "its own; let the user of this pipeline alone write there"
            )
            yield Notice(Kind.FOREIGN_ENTRIES, self.log, 0, text, still=False)
