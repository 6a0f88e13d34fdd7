"""Where a sample has the times of its records."""

from dataflows.config import Pipeline, TimestampField
from dataflows.errors import FuguError


def require_times(pipeline: Pipeline, key: str) -> None:
    """`FuguError` unless each line has its time, which this key of the file is about."""
    if not isinstance(pipeline.source.timestamp, TimestampField):
        raise FuguError(
            f"{key} counts time, and a line of a sample has none but in a field: write "
            "source.timestamp: {field: …, format: epoch-ms} in a copy of the pipeline file, and "
            "the time of each record into its line"
        )
