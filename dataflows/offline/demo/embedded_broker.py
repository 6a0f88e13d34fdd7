"""Run the embedded development broker: librdkafka's mock cluster, in this process, in memory.

Good for a first look, and for nothing else: no durability, no topic ids, no topic settings, no
fencing. Topics appear by themselves with 4 partitions, each of which keeps its newest 5 MB.
"""

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.base.install import install

PARTITIONS = 4


class EmbeddedBroker:
    """Run a broker on a free port of this machine while the context is open."""

    def __enter__(self) -> str:
        """Start it and return its bootstrap address."""
        try:
            from confluent_kafka import Producer
        except ImportError:
            raise FuguError(
                f"the embedded broker needs confluent-kafka: {install('demo')}"
            ) from None
        self._owner = Producer(
            {
                "bootstrap.servers": "replaced-by-the-mock-cluster",
                "test.mock.num.brokers": 1,
                "log_level": 0,
            }
        )
        broker = next(iter(self._owner.list_topics(timeout=10).brokers.values()))
        return f"{broker.host}:{broker.port}"

    def __exit__(self, *error: object) -> None:
        """Stop it; everything it held is gone."""
        del self._owner
