"""Notice that too large a share of the source's records is refused, and most for which reason."""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from fugu.dataflows.base.advice import ADVICE
from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.metrics import DEAD_LETTERS, RECORDS_IN, Metrics
from fugu.dataflows.monitoring.notices import Kind, Notice

_OLDEST_SECONDS = 600.0
_EXPECTED = {Reason.ROW_DELETED}
"""Reasons for which nobody has to do anything."""


@dataclass(frozen=True)
class _Sample:
    moment: float
    read: float
    refused: Counter[str]


@dataclass
class RefusedShare:
    """Judge the newest stretch that holds `over` records, if it began in the last ten minutes."""

    topic: str
    metrics: Metrics
    share: float
    over: int
    _samples: deque[_Sample] = field(default_factory=deque, init=False)

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said."""
        samples, sample = self._samples, self._sample(now)
        if not samples:
            samples.append(_Sample(now, 0, Counter()))
        if (samples[-1].read, samples[-1].refused) == (sample.read, sample.refused):
            samples.pop()
        samples.append(sample)
        while now - samples[0].moment > _OLDEST_SECONDS:
            samples.popleft()
        enough = (one for one in reversed(samples) if sample.read - one.read >= self.over)
        before = next(enough, None)
        if before is None:
            return
        read, refused = sample.read - before.read, sample.refused - before.refused
        if refused.total() > self.share * read:
            [(reason, _)] = refused.most_common(1)
            text = (
                f"topic {self.topic}: {refused.total():,.0f} of the last {read:,.0f} records were "
                f"refused, most as {reason}: {ADVICE[Reason(reason)]}"
            )
            yield Notice(Kind.REFUSED, self.topic, None, text, still=False)

    def _sample(self, now: float) -> _Sample:
        refused = Counter[str]()
        for (topic, _, reason), count in self.metrics.values(DEAD_LETTERS).items():
            if topic == self.topic and reason not in _EXPECTED:
                refused[reason] += int(count)
        read = self.metrics.values(RECORDS_IN).items()
        return _Sample(now, sum(n for (topic, _), n in read if topic == self.topic), refused)
