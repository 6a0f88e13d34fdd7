"""Faust (faust-streaming).

`--mode table`: beliefs in a table, in memory and in a changelog topic, as its documentation shows
stateful work. `--mode dict`: beliefs in a dict of the process, and records taken in batches, which
is faster; the state survives nothing.

Not done here, and done by Fugu: after a crash records are released again with fresh noise (it is
at-least-once, and a table may be ahead of the committed offsets: a user's belief then counts a
record twice); no release ids, noise without a key, no ledger, no dead letters.
Better here: agents, web views, tables to look things up in, workers that share partitions.
"""

import asyncio
import logging
import os
from random import random

import faust
import mode.loop
import numpy as np
import orjson
from aiokafka import AIOKafkaConsumer
from crr_step import ConditionalRandomizedResponse
from faust.types import EventT, StreamT
from peer_command import arguments

# Profiled: taking many saves about a quarter of the processor time of `stream.events()`.
TAKE, WITHIN_SECONDS = 5_000, 0.02


async def partitions_of(bootstrap: str, topic: str) -> int:
    """A table's changelog needs as many as the source has."""
    async with AIOKafkaConsumer(topic, bootstrap_servers=bootstrap) as consumer:
        return len(consumer.partitions_for_topic(topic))


def main() -> None:
    asked = arguments("table", "dict")
    step = ConditionalRandomizedResponse.of_file(asked.model, asked.epsilon)
    index, encode, release, loads = step.index, step.encode, step.release, orjson.loads
    mode.loop.use("uvloop")  # Installation, "Bundles": faust[uvloop]
    # Faust leaves the level of this logger open, and aiokafka then writes one for each record.
    logging.getLogger("aiokafka").setLevel(logging.WARNING)
    # All settings: "Configuration Reference" (userguide/settings).
    app = faust.App(
        asked.sink,  # the consumer group
        broker=f"kafka://{asked.bootstrap}",
        datadir=os.environ.get("TMPDIR", "."),
        web_enabled=False,
        topic_disable_leader=True,
        store="memory://",  # faster than RocksDB; the changelog topic restores it
        cython_optimizations=True,  # "Enable the repaired fast paths in the Cython extensions"
        stream_buffer_maxsize=131_072,  # "may let you process over 30,000 events a second"
        broker_max_poll_records=5_000,
        consumer_max_fetch_size=4 * 1024 * 1024,
        broker_commit_every=100_000,
        broker_commit_interval=1.0,  # as often as Fugu snapshots
        producer_linger=0.005,
        producer_max_batch_size=131_072,
    )
    # "Codecs": raw bytes are the fastest; parsed with orjson below.
    source = app.topic(
        asked.source,
        key_type=bytes,
        value_type=bytes,
        key_serializer="raw",
        value_serializer="raw",
    )

    async def publish(event: EventT, value: bytes) -> None:
        # "Agents", "Sending": what `topic.send` does, without an object for each message; the
        # acknowledgement is not waited for.
        message = event.message
        await app.producer.send(asked.sink, message.key, value, message.partition, None, None)

    if asked.mode == "table":
        partitions = asyncio.run(partitions_of(asked.bootstrap, asked.source))
        table = app.Table("beliefs", key_type=bytes, value_type=bytes, partitions=partitions)

        @app.agent(source)
        async def with_table(stream: StreamT) -> None:
            # One by one: a table writes its changelog to the partition of the current event.
            async for event in stream.events():
                user = event.key
                kept = table.get(user)
                belief = step.start() if kept is None else np.frombuffer(kept).copy()
                released = release(belief, index[loads(event.value)["zone"]], random())
                table[user] = belief.tobytes()
                await publish(event, encode(*released))
    else:
        beliefs = {}

        @app.agent(source)
        async def with_dict(stream: StreamT) -> None:
            async for events in stream.take_events(TAKE, within=WITHIN_SECONDS):
                for event in events:
                    belief = beliefs.get(event.key)
                    if belief is None:
                        belief = beliefs[event.key] = step.start()
                    released = release(belief, index[loads(event.value)["zone"]], random())
                    await publish(event, encode(*released))

    faust.Worker(app, loglevel="WARN").execute_from_commandline()


if __name__ == "__main__":
    main()
