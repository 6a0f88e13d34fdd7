"""Fresh topics for tests and benchmarks."""

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from kafka import KafkaAdminClient
from kafka.errors import TopicAlreadyExistsError

_DEADLINE_SECONDS = 30.0


@dataclass(frozen=True)
class TopicFactory:
    """Called, it creates a topic that is usable at once and returns its unique name.

    The topic keeps records of any age: Kafka would remove old timestamps while a test looks on.
    """

    bootstrap: str
    replicas: int = 1

    def __call__(
        self, name: str = "topic", *, partitions: int = 1, configs: Mapping[str, str] | None = None
    ) -> str:
        topic = f"fugu-test-{name}-{uuid.uuid4().hex[:12]}"
        layout = {
            "num_partitions": partitions,
            "replication_factor": self.replicas,
            "configs": {"retention.ms": "-1", **(configs or {})},
        }
        with KafkaAdminClient(bootstrap_servers=self.bootstrap) as admin:
            admin.create_topics({topic: layout}, wait_for_metadata=True)
        return topic


def make_anew(
    bootstrap: str, topic: str, *, partitions: int = 1, configs: Mapping[str, str] | None = None
) -> None:
    """Delete a topic, and create another one of its name."""
    layout = {
        "num_partitions": partitions,
        "replication_factor": 1,
        "configs": {"retention.ms": "-1", **(configs or {})},
    }
    deadline = time.monotonic() + _DEADLINE_SECONDS
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.delete_topics([topic])
        while True:
            try:
                admin.create_topics({topic: layout}, wait_for_metadata=True)
                return
            except TopicAlreadyExistsError:
                assert time.monotonic() < deadline, "Kafka did not delete the topic"
                time.sleep(0.05)
