"""Notice that a partition will soon have no room for new keys."""

from collections.abc import Iterable
from dataclasses import dataclass

from fugu.dataflows.base.metrics import STREAMS, STREAMS_LIMIT, Metrics
from fugu.dataflows.monitoring.notices import Kind, Notice
from fugu.dataflows.stages.admission import NEARLY_ALL


@dataclass(frozen=True)
class StreamsLimit:
    """Compare the keys of each partition with its share of `state.max_keys`."""

    topic: str
    metrics: Metrics

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said; where numbers about streams are not shown, nothing
        or, of figures over all people, that rows run out, and no number."""
        limits = self.metrics.values(STREAMS_LIMIT)
        for place, streams in sorted(self.metrics.values(STREAMS).items()):
            limit = limits.get(place)
            if limit is not None and streams >= NEARLY_ALL * limit:
                topic, partition = place
                text = (
                    f"topic {topic}, partition {partition}: {streams:,.0f} of {limit:,.0f} keys "
                    "have a row; when there are as many, records of new keys are refused as "
                    "too_many_keys. Raise state.max_keys"
                )
                yield Notice(Kind.STREAMS_LIMIT, topic, int(partition), text, still=False)
        for crowded in sorted(self.metrics.standing.crowded):
            text = (
                f"topic {self.topic}, partition {crowded}: more than nine tenths of the rows are "
                "of people who count now. When all are, nobody new is counted (too_many_keys) "
                "until ticks close, or the period of a cap is over: for so long, producers who "
                "make up keys can shut everybody else out. Raise state.max_keys, or see who "
                "writes to the topic"
            )
            yield Notice(Kind.STREAMS_LIMIT, self.topic, crowded, text, still=False)
