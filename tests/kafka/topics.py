"""Fresh topics for tests and benchmarks."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from kafka import KafkaAdminClient


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
