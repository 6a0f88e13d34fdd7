"""Read what a start is given, once for the look before it and for the start itself."""

from dataclasses import dataclass

from fugu.dataflows.kafka.client import Client, CopyClient
from fugu.dataflows.kafka.clients import client_of, copy_client_of
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import (
    Configured,
    configure,
    refuse_what_pays_nothing,
    state_megabytes,
)
from fugu.dataflows.pipeline.secrets import read_keys, read_state_secret
from fugu.operators.keys import Keys
from fugu.operators.randomness import Secret


@dataclass(frozen=True)
class Given:
    """Hold a pipeline file, what it configures, and the secrets and the Kafka that it names.

    A copy, whose state is in Kafka, and who writes records by user need a client that can more:
    `copies`. `state_secret` encrypts that state.
    """

    file: PipelineFile
    keys: Keys
    configured: Configured
    client: Client
    copies: CopyClient | None = None
    state_secret: Secret | None = None

    @classmethod
    def by(cls, file: PipelineFile) -> "Given":
        """Read all of it; nothing is asked of Kafka yet."""
        keys, configured = read_keys(file), configure(file)
        refuse_what_pays_nothing(configured.mechanism)
        state_megabytes(file.pipeline, configured.mechanism)
        connection, generation = file.connection(), file.pipeline.source.generation
        if file.pipeline.source.is_repartitioned and not file.pipeline.state.in_kafka:
            copies = copy_client_of(connection, generation, "source.key.repartition")
            return cls(file, keys, configured, copies, copies)
        if file.pipeline.state.in_kafka:
            copies = copy_client_of(connection, generation)
            return cls(file, keys, configured, copies, copies, read_state_secret(file))
        return cls(file, keys, configured, client_of(connection, generation))
