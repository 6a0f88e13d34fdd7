"""Transactional producers, whose topics hold control records and records that never count."""

import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager

from kafka import KafkaProducer


@contextmanager
def transactional_producer(bootstrap: str) -> Iterator[KafkaProducer]:
    """A producer that is ready to begin its first transaction."""
    producer = KafkaProducer(
        bootstrap_servers=bootstrap, transactional_id=f"fugu-test-{uuid.uuid4().hex}"
    )
    with closing(producer):
        producer.init_transactions()
        yield producer


def transaction(producer: KafkaProducer, topic: str, values: list[bytes], *, commit: bool) -> None:
    """Write values to partition 0 in one transaction, and commit or abort it."""
    producer.begin_transaction()
    sent = [producer.send(topic, value, b"key", partition=0) for value in values]
    producer.flush()
    for future in sent:
        future.get(timeout=30)
    if commit:
        producer.commit_transaction()
    else:
        producer.abort_transaction()
