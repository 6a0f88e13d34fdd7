"""Quix Streams.

`--mode store`: beliefs in its state store (RocksDB, with a changelog topic), as its documentation
shows stateful work. `--mode dict`: beliefs in a dict of the process, which is faster and survives
nothing.

Not done here, and done by Fugu: after a crash records are released again with fresh noise (its
guarantee is at-least-once); no release ids, noise without a key, no ledger, no dead letters.
"""

import logging
import os
from random import random

import numpy as np
import orjson
from crr_step import ConditionalRandomizedResponse
from peer_command import arguments
from quixstreams import Application, State


def main() -> None:
    asked = arguments("store", "dict")
    step = ConditionalRandomizedResponse.of_file(asked.model, asked.epsilon)
    index, encode, release, loads = step.index, step.encode, step.release, orjson.loads
    application = Application(
        broker_address=asked.bootstrap,
        consumer_group=asked.sink,
        auto_offset_reset="earliest",
        state_dir=os.path.join(os.environ.get("TMPDIR", "."), "quix-state"),
        loglevel=logging.WARNING,
        # docs/configuration.md: extra settings go to librdkafka. Quix itself lowers
        # fetch.queue.backoff.ms to 100 ms "to fetch data more often"; librdkafka's
        # CONFIGURATION.md tells what it delays.
        consumer_extra_config={"fetch.queue.backoff.ms": 5},
        # librdkafka's INTRODUCTION.md, "Performance"; CONFIGURATION.md for the limit.
        producer_extra_config={
            "linger.ms": 5,
            "queue.buffering.max.messages": 500_000,
            "enable.idempotence": True,
        },
    )
    # docs/advanced/serialization.md: bytes are passed through as they are; parsing with orjson
    # here is what its JSON deserializer does, without the checks around it.
    source = application.topic(asked.source, key_deserializer="bytes", value_deserializer="bytes")
    sink = application.topic(asked.sink, key_serializer="bytes", value_serializer="bytes")

    def from_store(value: bytes, state: State) -> bytes:
        # docs/processing.md, "Using State Store"; bytes need no further encoding.
        kept = state.get_bytes("belief")
        belief = step.start() if kept is None else np.frombuffer(kept).copy()
        released = encode(*release(belief, index[loads(value)["zone"]], random()))
        state.set_bytes("belief", belief.tobytes())
        return released

    beliefs = {}

    def from_dict(value: bytes, key: bytes, timestamp: int, headers: object) -> bytes:
        belief = beliefs.get(key)
        if belief is None:
            belief = beliefs[key] = step.start()
        return encode(*release(belief, index[loads(value)["zone"]], random()))

    frame = application.dataframe(source)
    if asked.mode == "store":
        frame = frame.apply(from_store, stateful=True)
    else:
        frame = frame.apply(from_dict, metadata=True)
    frame.to_topic(sink)
    application.run()


if __name__ == "__main__":
    main()
