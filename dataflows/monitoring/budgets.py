"""Notice that many streams have spent their budgets, or nearly have."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fugu.dataflows.base.metrics import STREAMS_BY_BUDGET, Metrics
from fugu.dataflows.monitoring.notices import Kind, Notice
from fugu.operators.budget import WhenExhausted

_FEWEST = 100
_NEARLY = ("9", "10")
_INSTEAD: Mapping[WhenExhausted, str] = {
    "repeat": "their last release is repeated",
    "constant": "a constant is released for them",
    "suppress": "nothing is released for them",
    "stop": "the next of their records stops the pipeline",
}


@dataclass(frozen=True)
class Budgets:
    """Judge which share of all streams of this process has spent its budget, if there are 100.

    Nothing is said where numbers about streams are not shown.
    """

    topic: str
    metrics: Metrics
    share: float
    when_exhausted: WhenExhausted

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said."""
        counts = Counter[str]()
        for (_, _, spent), count in self.metrics.values(STREAMS_BY_BUDGET).items():
            counts[spent] += int(count)
        streams, ended = counts.total(), counts["exhausted"]
        nearly = sum(counts[spent] for spent in _NEARLY)
        if streams < _FEWEST:
            return
        instead = f"{_INSTEAD[self.when_exhausted]} (budget.when_exhausted)"
        if ended > self.share * streams:
            text = (
                f"topic {self.topic}: {ended:,} of {streams:,} streams have no budget left: "
                f"{instead}"
            )
            yield Notice(Kind.BUDGETS_SPENT, self.topic, None, text, still=False)
        elif ended + nearly > self.share * streams:
            text = (
                f"topic {self.topic}: {ended + nearly:,} of {streams:,} streams have spent nine "
                f"tenths of their budget or more; when nothing is left, {instead}"
            )
            yield Notice(Kind.BUDGETS_NEARLY_SPENT, self.topic, None, text, still=False)
