"""Export a sanitized topic to Parquet files, for analysts without Kafka."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.base.install import install
from fugu.dataflows.commands.arguments import PipelineArgument
from fugu.dataflows.commands.output import say
from fugu.dataflows.kafka.clients import client_of


def export_topic(
    pipeline: PipelineArgument,
    to: Annotated[Path, typer.Option("--to", file_okay=False, help="The directory of the files.")],
) -> None:
    """Write the sanitized topic to Parquet files by day, each release exactly once.

    Run it again to add what is new. If it was killed, it writes the same files.
    """
    if find_spec("pyarrow") is None:
        raise ConfigurationError(f"fugu export needs pyarrow: {install('analysis')}")
    from fugu.dataflows.analysis.exporting import export_sink

    written = export_sink(client_of(pipeline.connection()), pipeline, to)
    say(f"{written:,} releases of {pipeline.pipeline.sink.topic} written to {to}")
