"""Where a sample has the times of its records, and who says what time it is in one."""

from dataclasses import replace

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.base.stream_time import StreamTime
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.pipeline.config import Pipeline, TimestampField


def ticks_in(sample: Sample, ticks: Ticks) -> Ticks:
    """Where a sample has fewer people than move stream time, or no heartbeat, all of them do."""
    keys = set(sample.decoded.keys) | set(sample.decoded.refused.keys)
    if ticks.time.heartbeats:
        there = not ticks.time.heartbeats.isdisjoint(keys)
        return ticks if there else replace(ticks, time=StreamTime(1))
    return replace(ticks, time=StreamTime(min(ticks.time.distinct_keys, len(keys))))


def require_times(pipeline: Pipeline, key: str) -> None:
    """`FuguError` unless each line has its time, which this key of the file is about."""
    if not isinstance(pipeline.source.timestamp, TimestampField):
        raise FuguError(
            f"{key} counts time, and a line of a sample has none but in a field: write "
            "source.timestamp: {field: …, format: epoch-ms} in a copy of the pipeline file, and "
            "the time of each record into its line"
        )
