"""Export a sanitized topic to Parquet files, for analysts without Kafka."""

from pathlib import Path
from typing import Annotated

import typer

from fugu.dataflows.base.errors import ConfigurationError, KafkaUnavailable
from fugu.dataflows.base.install import install
from fugu.dataflows.commands.arguments import PipelineArgument
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.publishing.promise import promise_of


def export_topic(
    pipeline: PipelineArgument,
    to: Annotated[Path, typer.Option("--to", file_okay=False, help="The directory of the files.")],
) -> None:
    """Write the sanitized topic to Parquet files by day, each release exactly once.

    Run it again to add what is new. If it was killed, it writes the same files.
    """
    try:
        from fugu.dataflows.analysis.exporting import export
        from fugu.dataflows.analysis.reading import kafka_promises
    except ImportError:
        raise ConfigurationError(f"fugu export needs pyarrow: {install('analysis')}") from None
    name = pipeline.pipeline.sink.topic
    client = client_of(pipeline.connection())
    topic = client.topic(name)
    if topic is None:
        raise KafkaUnavailable(f"topic {name} does not exist. Has the pipeline run yet?")
    promises = kafka_promises(client, name, topic.identity)
    if not promises:
        promises = [promise_of(pipeline, configure(pipeline).mechanism, topic.identity)]
    written = export(client, topic, promises, to)
    print(f"{written:,} releases of {name} written to {to}")
