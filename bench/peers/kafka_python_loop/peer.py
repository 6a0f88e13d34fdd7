"""The loop that one writes first: kafka-python, one record after the other.

`--mode python` computes the step in Python alone, `--mode numba` with numba.

Not done here, and done by Fugu: state survives nothing (after a restart the loop begins anew, with
fresh noise for the same truths), no release ids, noise without a key, no ledger of what was spent,
no dead letters: a record that is not as expected ends the program.
"""

from random import random

import orjson
from crr_step import ConditionalRandomizedResponse
from kafka_python_clients import BATCH, consumer_of, producer_of
from peer_command import Stop, arguments


def main() -> None:
    asked, stop = arguments("python", "numba"), Stop()
    step = ConditionalRandomizedResponse.of_file(
        asked.model, asked.epsilon, compiled=asked.mode == "numba"
    )
    consumer, producer = consumer_of(asked.bootstrap, asked.source), producer_of(asked.bootstrap)
    beliefs, index, encode = {}, step.index, step.encode
    while not stop:
        for records in consumer.poll(timeout_ms=100, max_records=BATCH).values():
            for record in records:
                belief = beliefs.get(record.key)
                if belief is None:
                    belief = beliefs[record.key] = step.start()
                symbol = index[orjson.loads(record.value)["zone"]]
                released = encode(*step.release(belief, symbol, random()))
                producer.send(
                    asked.sink, value=released, key=record.key, partition=record.partition
                )
    producer.flush()
    consumer.close()


if __name__ == "__main__":
    main()
