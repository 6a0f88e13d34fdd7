"""confluent-kafka, one record after the other: `poll`, the compiled step, `produce`.

Not done here, and done by Fugu: state survives nothing (after a restart the loop begins anew, with
fresh noise for the same truths), no release ids, noise without a key, no ledger of what was spent,
no dead letters: a record that is not as expected ends the program.
"""

from random import random

import orjson
from confluent_clients import consumer_of, producer_of
from crr_step import ConditionalRandomizedResponse
from peer_command import Stop, arguments

SERVE_EVERY = 1_000
"""Records between two calls that serve the producer's queue of reports."""


def main() -> None:
    asked, stop = arguments(), Stop()
    step = ConditionalRandomizedResponse.of_file(asked.model, asked.epsilon)
    consumer, producer = consumer_of(asked.bootstrap, asked.source), producer_of(asked.bootstrap)
    beliefs, index, encode, loads = {}, step.index, step.encode, orjson.loads
    poll, produce, release, sink = consumer.poll, producer.produce, step.release, asked.sink
    unserved = 0
    while not stop:
        message = poll(0.1)
        if message is None:
            continue
        if message.error():
            raise SystemExit(str(message.error()))
        key = message.key()
        belief = beliefs.get(key)
        if belief is None:
            belief = beliefs[key] = step.start()
        symbol = index[loads(message.value())["zone"]]
        released = encode(*release(belief, symbol, random()))
        produce(sink, released, key, message.partition())
        unserved += 1
        if unserved == SERVE_EVERY:
            producer.poll(0)
            unserved = 0
    producer.flush()
    consumer.close()


if __name__ == "__main__":
    main()
