"""Notice that a partition will soon have no room for new keys."""

from collections.abc import Iterable
from dataclasses import dataclass

from fugu.dataflows.base.metrics import STREAMS, STREAMS_LIMIT, Metrics
from fugu.dataflows.monitoring.notices import Kind, Notice

_NEARLY_ALL = 0.9


@dataclass(frozen=True)
class StreamsLimit:
    """Compare the keys of each partition with its share of `state.max_keys`."""

    topic: str
    metrics: Metrics

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said; nothing where numbers about streams are not shown."""
        limits = self.metrics.values(STREAMS_LIMIT)
        for place, streams in sorted(self.metrics.values(STREAMS).items()):
            limit = limits.get(place)
            if limit is not None and streams >= _NEARLY_ALL * limit:
                topic, partition = place
                text = (
                    f"topic {topic}, partition {partition}: {streams:,.0f} of {limit:,.0f} keys "
                    "have a row; when there are as many, records of new keys are refused as "
                    "too_many_keys. Raise state.max_keys"
                )
                yield Notice(Kind.STREAMS_LIMIT, topic, int(partition), text, still=False)
