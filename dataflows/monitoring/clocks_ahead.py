"""Notice records that were refused because their time is far ahead of Kafka's."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fugu.dataflows.base.standing import Standing
from fugu.dataflows.base.stream_time import StreamTime
from fugu.dataflows.monitoring.notices import Kind, Notice, Unmoved

_REMEMBERED_SECONDS = 300.0


@dataclass
class ClocksAhead:
    """Say for five minutes that such a record came; `name` is that of the field with its time."""

    topic: str
    standing: Standing
    name: str
    limit: StreamTime
    _unmoved: Unmoved = field(default_factory=Unmoved, init=False)

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said."""
        for partition, count in sorted(dict(self.standing.ahead_of_kafka).items()):
            if self._unmoved.seconds(partition, count, now) >= _REMEMBERED_SECONDS:
                continue
            text = (
                f"topic {self.topic}, partition {partition}: {count:,} records since the start had "
                f"times more than {self.limit.most_ahead / 1000:,g} s after those in Kafka "
                "(ticks.stream_time.max_ahead), and were refused. They moved no time. Dead "
                f"letters too_far_ahead that name {self.name} say which ones: correct the clock "
                "that wrote it"
            )
            yield Notice(Kind.CLOCK_AHEAD, self.topic, partition, text, still=False)
