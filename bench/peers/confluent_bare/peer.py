"""Bare pass-through with confluent-kafka: consume, produce the same bytes with two headers.

Nothing is decoded, drawn, remembered or sanitized: what the client alone costs, with headers of
the size that Fugu's have.
"""

from confluent_clients import BATCH, WAIT_SECONDS, consumer_of, producer_of
from peer_command import Stop, arguments

HEADERS = [("fugu-release", b"0123456789abcdef0123456789abcdef"), ("fugu-guarantee", b"0" * 16)]


def main() -> None:
    asked, stop = arguments(), Stop()
    consumer, producer = consumer_of(asked.bootstrap, asked.source), producer_of(asked.bootstrap)
    sink, produce = asked.sink, producer.produce
    while not stop:
        for message in consumer.consume(BATCH, WAIT_SECONDS):
            if message.error():
                raise SystemExit(str(message.error()))
            produce(sink, message.value(), message.key(), message.partition(), headers=HEADERS)
        producer.poll(0)
    producer.flush()
    consumer.close()


if __name__ == "__main__":
    main()
