"""Notice that times are written in another unit than the one that they are read in."""

from collections.abc import Iterable
from dataclasses import dataclass

from fugu.dataflows.base.standing import Standing
from fugu.dataflows.monitoring.notices import Kind, Notice
from fugu.dataflows.records.time_units import Format, advice

_FEWEST = 20


@dataclass(frozen=True)
class TimeUnits:
    """Judge the times of the last records of each partition, which `field` holds in this unit."""

    topic: str
    standing: Standing
    field: str
    unit: Format

    def notices(self, now: float) -> Iterable[Notice]:
        """Return what is to be said."""
        for partition, times in sorted(dict(self.standing.times_read).items()):
            read, small, large = times.read, times.small, times.large
            odd = max(small, large)
            if odd < _FEWEST or 2 * odd < read:
                continue
            where = "before 1973" if small >= large else "beyond the year 9999, and are refused"
            text = (
                f"topic {self.topic}, partition {partition}: of the last {read:,} records, {odd:,} "
                f"have times {where}. Look at field {self.field}: "
                f"{advice(self.unit, too_small=small >= large)}"
            )
            yield Notice(Kind.TIME_UNIT, self.topic, partition, text, still=False)
