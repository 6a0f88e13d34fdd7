"""Claim a state for this directory, over whoever holds it."""

from fugu.dataflows.base.errors import ConfigurationError, KafkaUnavailable
from fugu.dataflows.commands.arguments import PipelineArgument
from fugu.dataflows.commands.output import Terminal
from fugu.dataflows.flows.sections import is_merged
from fugu.dataflows.flows.state_directories import all_directories
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.clients import client_of
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.publishing.lease import Leases, find_control, unit_of
from fugu.dataflows.publishing.ledger_topic import find_ledger
from fugu.dataflows.state.directory import StateDirectory


def claim(pipeline: PipelineArgument) -> None:
    """Let this state go on instead of the copy that was started last.

    A process that runs with another copy stops with exit code 78. What only that copy has spent is
    not known here: records that it released and this one has not are recognised in the topics.
    """
    directories = all_directories(pipeline)
    client = client_of(pipeline.connection(), pipeline.pipeline.source.generation)
    control = find_control(client, pipeline.pipeline, find_ledger(client, pipeline.pipeline))
    if control is None:
        raise ConfigurationError("there is no topic of claims, so nothing is to be claimed")
    leases = Leases(client, control, pipeline.pipeline.name)
    try:
        for directory in directories:
            directory.lock()
        units = {_unit(pipeline, client, directory): directory.path for directory in directories}
        leases.take(units, over_any=True)
    finally:
        leases.close()
        for directory in directories:
            directory.unlock()
    Terminal().print(f"pipeline {pipeline.pipeline.name} goes on here: start {pipeline.path}")


def _unit(file: PipelineFile, client: Client, directory: StateDirectory) -> str:
    stored, pipeline = directory.stored(), file.pipeline
    if stored is not None:
        return unit_of(directory, stored.sink_identity)
    tells = is_merged(pipeline) and directory.path.name != "merge"
    name = pipeline.partials_topic if tells else pipeline.sink.topic
    topic = client.topic(name)
    if topic is None:
        raise KafkaUnavailable(f"topic {name} does not exist, so nobody holds {directory.path}")
    return unit_of(directory, topic.identity)
