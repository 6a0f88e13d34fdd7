"""Choose the client that a pipeline talks to Kafka with."""

import logging
from functools import cache
from importlib.util import find_spec

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.base.install import install
from fugu.dataflows.kafka.client import Client, CopyClient
from fugu.dataflows.kafka.connection import Connection
from fugu.dataflows.kafka.kafka_python import KafkaPythonClient
from fugu.dataflows.kafka.native.availability import refusal

_OTHER = "write kafka.client: kafka-python"
_WITHOUT = {
    "state.store: kafka": "write state.store: disk and a directory",
    "source.key.repartition": "delete it, and let producers choose partitions by user",
}

log = logging.getLogger(__name__)


def client_of(connection: Connection, generation: int = 0) -> Client:
    """Return the client that the pipeline file names; else librdkafka where it can be used."""
    if connection.client == "kafka-python":
        return KafkaPythonClient(connection, generation)
    reason = refusal()
    if reason is None:
        from fugu.dataflows.kafka.native.client import NativeClient

        return NativeClient(connection, generation)
    if connection.client == "librdkafka":
        raise _unusable("kafka.client: librdkafka", reason, _OTHER)
    if connection.transactions is True:
        raise _unusable("kafka.transactions: true", reason, "delete kafka.transactions")
    if connection.settings:
        raise _unusable("kafka.settings", reason, "delete kafka.settings")
    _say_once(reason)
    return KafkaPythonClient(connection, generation)


def copy_client_of(
    connection: Connection, generation: int = 0, why: str = "state.store: kafka"
) -> CopyClient:
    """Return a client that commits records and positions together, which `why` needs."""
    if (reason := refusal()) is not None:
        raise _unusable(why, reason, _WITHOUT[why])
    from fugu.dataflows.kafka.native.client import NativeClient

    return NativeClient(connection, generation)


def _unusable(asked: str, reason: str, instead: str) -> ConfigurationError:
    return ConfigurationError(
        f"{asked} needs librdkafka, which cannot be used here: {reason}. {_how()}  or {instead}"
    )


def _how() -> str:
    return f"Install it:  {install('fast')}"


@cache
def _say_once(reason: str) -> None:
    """Say why the fast client that seems to be there is not used."""
    if find_spec("confluent_kafka") is not None:
        log.warning(
            "librdkafka is not used, but kafka-python, which is slower: %s. %s  or %s",
            reason,
            _how(),
            _OTHER,
        )
