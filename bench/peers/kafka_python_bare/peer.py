"""Bare pass-through with kafka-python: consume, produce the same bytes with two headers.

Nothing is decoded, drawn, remembered or sanitized: what the client alone costs, with headers of
the size that Fugu's have.
"""

from kafka_python_clients import BATCH, consumer_of, producer_of
from peer_command import Stop, arguments

HEADERS = [("fugu-release", b"0123456789abcdef0123456789abcdef"), ("fugu-guarantee", b"0" * 16)]


def main() -> None:
    asked, stop = arguments(), Stop()
    consumer, producer = consumer_of(asked.bootstrap, asked.source), producer_of(asked.bootstrap)
    sink, send = asked.sink, producer.send
    while not stop:
        for records in consumer.poll(timeout_ms=100, max_records=BATCH).values():
            for record in records:
                send(
                    sink,
                    value=record.value,
                    key=record.key,
                    headers=HEADERS,
                    partition=record.partition,
                )
    producer.flush()
    consumer.close()


if __name__ == "__main__":
    main()
