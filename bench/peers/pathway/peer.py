"""Pathway.

Beliefs are the state of a stateful reducer. Pathway's tables know no order within a minibatch, so
records are ordered by offset, and the offset is published in a header (a header is the only way to
order output by a column that is not in the value); Pathway adds two headers of its own.

Not done here, and done by Fugu: persistence is off, since the reducer's state would be written out
whole: after a crash everything is released again with fresh noise; no release ids, noise without a
key, no ledger, no dead letters.
Better here: joins, windows, incremental tables, many connectors.
"""

import gc
import os
from random import random
from typing import Any

import orjson
import pathway as pw
from crr_step import ConditionalRandomizedResponse
from peer_command import arguments

# `pw.io.kafka.read`: settings go to librdkafka; its CONFIGURATION.md tells what these delay and
# limit.
CONSUMER = {
    "auto.offset.reset": "earliest",
    "enable.auto.commit": "false",
    "fetch.queue.backoff.ms": "5",
}
PRODUCER = {"linger.ms": "5", "queue.buffering.max.messages": "500000"}
# `pw.io.kafka.read`: "Set this whenever the source can deliver data faster than the graph processes
# it"; "a few tens of thousands is a reasonable starting point".
BACKLOG = 50_000
COMMIT_MILLISECONDS = 50
# A minibatch makes many small tuples that live until it is written: fewer searches for garbage.
GARBAGE_THRESHOLD = 200_000


def main() -> None:
    asked = arguments()
    gc.set_threshold(GARBAGE_THRESHOLD)
    step = ConditionalRandomizedResponse.of_file(asked.model, asked.epsilon)
    index, encode, release, loads = step.index, step.encode, step.release, orjson.loads

    # "Stateful reducers": called once for each group and minibatch. One group for each partition:
    # a group for each user means thousands of small calls.
    @pw.reducers.stateful_many
    def released(state: Any, rows: list[tuple[list[Any], int]]) -> Any:
        beliefs = {} if state is None else state[0].value
        out = []
        for offset, user, value in sorted(row for row, _ in rows):
            belief = beliefs.get(user)
            if belief is None:
                belief = beliefs[user] = step.start()
            symbol = index[loads(value)["zone"]]
            out.append((offset, user, encode(*release(belief, symbol, random()))))
        return pw.wrap_py_object(beliefs), tuple(out)

    records = pw.io.kafka.read(
        {**CONSUMER, "bootstrap.servers": asked.bootstrap, "group.id": asked.sink},
        asked.source,
        format="raw",
        autogenerate_key=True,
        with_metadata=True,
        autocommit_duration_ms=COMMIT_MILLISECONDS,
        max_backlog_size=BACKLOG,
    )
    records = records.select(
        partition=pw.this._metadata["partition"].as_int(),
        offset=pw.this._metadata["offset"].as_int(),
        user=pw.this.key,
        value=pw.this.data,
    )
    batches = records.groupby(records.partition).reduce(
        batch=released(records.offset, records.user, records.value)
    )
    # A new batch replaces the last one: only what is new is wanted.
    batches = batches.to_stream().filter(pw.this.is_upsert)
    batches = batches.select(
        batch=pw.apply_with_type(
            lambda state: state[1], list[tuple[int, bytes, bytes]], pw.this.batch
        )
    )
    releases = batches.flatten(pw.this.batch).select(
        offset=pw.this.batch[0], user=pw.this.batch[1], value=pw.this.batch[2]
    )
    pw.io.kafka.write(
        releases,
        {**PRODUCER, "bootstrap.servers": asked.bootstrap},
        asked.sink,
        format="raw",
        key=releases.user,
        value=releases.value,
        headers=[releases.offset],
        sort_by=[releases.offset],
    )
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)


if __name__ == "__main__":
    os.environ.setdefault("PATHWAY_THREADS", "1")
    main()
