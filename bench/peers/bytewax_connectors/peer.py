"""bytewax with its own Kafka connectors (Fugu is bytewax with connectors of its own).

`--mode state`: beliefs in keyed state with recovery on, as its documentation shows stateful work.
`--mode dict`: beliefs in a dict of the process and no recovery, which is faster.

Not done here, and done by Fugu: after a crash records are released again with fresh noise; no
release ids, noise without a key, no ledger, no dead letters.
"""

import os
from datetime import timedelta
from pathlib import Path
from random import random

import bytewax.operators as op
import numpy as np
import orjson
from bytewax.connectors.kafka import KafkaSink, KafkaSinkMessage, KafkaSource, KafkaSourceMessage
from bytewax.dataflow import Dataflow
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.run import cli_main
from crr_step import ConditionalRandomizedResponse
from peer_command import arguments

# `KafkaSource`: "batch_size: How many messages to consume at most at each poll". The sink waits for
# all acknowledgements of a batch, so a large batch is what makes it fast.
BATCH = 5_000
# `KafkaSource` and `KafkaSink`: add_config goes to librdkafka; its CONFIGURATION.md tells what
# these delay and limit. What is flushed does not linger.
CONSUMER = {"fetch.queue.backoff.ms": "5"}
PRODUCER = {"queue.buffering.max.messages": "500000", "enable.idempotence": "true"}
# `RecoveryConfig` and "Snapshotting": an epoch for each second, as in Fugu.
EPOCH = timedelta(seconds=1)


def main() -> None:
    asked = arguments("state", "dict")
    step = ConditionalRandomizedResponse.of_file(asked.model, asked.epsilon)
    index, encode, release, loads = step.index, step.encode, step.release, orjson.loads
    beliefs = {}

    def from_dict(message: KafkaSourceMessage) -> KafkaSinkMessage:
        key = message.key
        belief = beliefs.get(key)
        if belief is None:
            belief = beliefs[key] = step.start()
        released = encode(*release(belief, index[loads(message.value)["zone"]], random()))
        return KafkaSinkMessage(key, released)

    def from_state(
        belief: np.ndarray | None, message: KafkaSourceMessage
    ) -> tuple[np.ndarray, KafkaSinkMessage]:
        belief = step.start() if belief is None else belief.copy()
        released = encode(*release(belief, index[loads(message.value)["zone"]], random()))
        return belief, KafkaSinkMessage(message.key, released)

    flow = Dataflow("peer")
    messages = op.input(
        "source",
        flow,
        KafkaSource([asked.bootstrap], [asked.source], add_config=CONSUMER, batch_size=BATCH),
    )
    recovery = None
    if asked.mode == "state":
        keyed = op.key_on("key", messages, lambda message: message.key.decode())
        released = op.key_rm("unkey", op.stateful_map("release", keyed, from_state))
        folder = Path(os.environ.get("TMPDIR", ".")) / "recovery"
        folder.mkdir(exist_ok=True)
        init_db_dir(folder, 1)
        recovery = RecoveryConfig(str(folder))
    else:
        released = op.map("release", messages, from_dict)
    op.output("sink", released, KafkaSink([asked.bootstrap], asked.sink, add_config=PRODUCER))
    cli_main(flow, epoch_interval=EPOCH, recovery_config=recovery)


if __name__ == "__main__":
    main()
