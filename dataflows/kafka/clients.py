"""Choose the client that a pipeline talks to Kafka with."""

from importlib.util import find_spec

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.connection import Connection
from fugu.dataflows.kafka.kafka_python import KafkaPythonClient


def client_of(connection: Connection, generation: int = 0) -> Client:
    """Return the client that the pipeline file names; else librdkafka where it is installed."""
    installed = find_spec("confluent_kafka") is not None
    if connection.client == "librdkafka" and not installed:
        raise ConfigurationError(
            "kafka.client: librdkafka is not installed here. Install it:  "
            "pip install 'fugu-streams[fast]'  or write kafka.client: kafka-python"
        )
    if connection.transactions and not installed:
        raise ConfigurationError(
            "kafka.transactions: true needs librdkafka. Install it:  "
            "pip install 'fugu-streams[fast]'  or delete kafka.transactions"
        )
    if connection.client == "kafka-python" or not installed:
        return KafkaPythonClient(connection, generation)
    from fugu.dataflows.kafka.native.client import NativeClient

    return NativeClient(connection, generation)
