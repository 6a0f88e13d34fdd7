"""PyFlink: Kafka tables, read and written by Flink's Java connector, and a keyed process function.

`--mode process`: Python apart from the JVM. `--mode thread`: Python inside of it. Both keep beliefs
in Flink's keyed state on the heap, and take a checkpoint every second.

Not done here, and done by Fugu: after a crash records are released again with fresh noise (the sink
is at-least-once; exactly-once would hide what an aborted transaction held, but read-uncommitted
consumers see it); no release ids, noise without a key, no ledger, no dead letters. A key must be
text: Flink cannot group by bytes.
Better here: exactly-once sinks, event time, windows, joins, SQL, state beyond memory, clusters.
"""

import ctypes
import os
import signal
import sys
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import random
from typing import Any

import numpy as np
from peer_command import Stop, arguments
from py4j.protocol import Py4JError
from pyflink.common import Configuration, Row, Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.java_gateway import get_gateway
from pyflink.table import DataTypes, Schema, StreamTableEnvironment, TableResult

_BECOME_SUBREAPER = 36  # of <linux/prctl.h>


class Release(KeyedProcessFunction):
    """One release for each record of a user."""

    def __init__(self, model: str, epsilon: float) -> None:
        self._model, self._epsilon = model, epsilon

    def open(self, context: RuntimeContext) -> None:
        from crr_step import ConditionalRandomizedResponse

        self._step = ConditionalRandomizedResponse.of_file(self._model, self._epsilon)
        # Pickled, since in thread mode a state of another kind fails where there is none yet.
        self._belief = context.get_state(ValueStateDescriptor("belief", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, record: Row, context: KeyedProcessFunction.Context) -> Iterator[Row]:
        step, kept = self._step, self._belief.value()
        belief = step.start() if kept is None else np.frombuffer(kept).copy()
        symbol, confidence = step.release(belief, step.index[record[1]], random())
        self._belief.update(belief.tobytes())
        yield Row(record[0], step.alphabet[symbol], round(confidence, 4))


def configuration(mode: str) -> Configuration:
    """Pages named are those of Flink's documentation."""
    jars = sorted((Path(sys.prefix) / "jars").glob("*.jar"))
    temporary = os.environ.get("TMPDIR", "/tmp")
    settings = {
        "pipeline.jars": ";".join(f"file://{jar}" for jar in jars),
        "python.executable": sys.executable,
        "python.client.executable": sys.executable,
        # "Execution Mode" (Python API)
        "python.execution-mode": mode,
        # "Configuration" (Python API): by default 1,000 values are cached, which with more users
        # means a call to the JVM for each record.
        "python.state.cache-size": "200000",
        # The same page; a record may wait as long as the bundle, by default 1 s.
        "python.fn-execution.bundle.size": "100000",
        "python.fn-execution.bundle.time": "100",
        # "Execution Configuration": no copies between operators.
        "pipeline.object-reuse": "true",
        # One slot: broker, JVM and Python already share the processors.
        "parallelism.default": "1",
        # "State Backends": "HashMapStateBackend is very fast".
        "state.backend.type": "hashmap",
        # "Checkpointing": as often as Fugu.
        "execution.checkpointing.interval": "1s",
        "execution.checkpointing.storage": "filesystem",
        "execution.checkpointing.dir": f"file://{temporary}/checkpoints",
        "io.tmp.dirs": temporary,
        "rest.port": "0",
        "rest.bind-port": "0",
    }
    configured = Configuration()
    for name, value in settings.items():
        configured.set_string(name, value)
    return configured


def start(asked: Any) -> TableResult:
    """Submit the job; options are those of the page "Apache Kafka SQL Connector"."""
    environment = StreamExecutionEnvironment.get_execution_environment(configuration(asked.mode))
    tables = StreamTableEnvironment.create(environment)
    shared = f"""
        'connector' = 'kafka',
        'properties.bootstrap.servers' = '{asked.bootstrap}',
        'key.format' = 'raw',
        'key.fields' = 'user',
        'value.format' = 'json',
        'value.fields-include' = 'EXCEPT_KEY'"""
    tables.execute_sql(
        f"""CREATE TABLE source (`user` STRING, zone STRING) WITH ({shared},
        'topic' = '{asked.source}',
        'scan.startup.mode' = 'earliest-offset',
        'properties.max.poll.records' = '5000')"""
    )
    tables.execute_sql(
        f"""CREATE TABLE sink (`user` STRING, zone STRING, confidence DOUBLE) WITH ({shared},
        'topic' = '{asked.sink}',
        'sink.delivery-guarantee' = 'at-least-once',
        'properties.linger.ms' = '5',
        'properties.batch.size' = '131072')"""
    )
    text, number = Types.STRING(), Types.DOUBLE()
    records = tables.to_data_stream(tables.from_path("source"))
    released = records.key_by(lambda record: record[0], key_type=text).process(
        Release(asked.model, asked.epsilon),
        Types.ROW_NAMED(["user", "zone", "confidence"], [text, text, number]),
    )
    schema = (
        Schema.new_builder()
        .column("user", DataTypes.STRING())
        .column("zone", DataTypes.STRING())
        .column("confidence", DataTypes.DOUBLE())
        .build()
    )
    return tables.from_data_stream(released, schema).execute_insert("sink")


def main() -> None:
    asked = arguments("process", "thread")
    # What the JVM started and leaves behind comes to this process, which waits for it at the end.
    ctypes.CDLL(None).prctl(_BECOME_SUBREAPER, 1)
    # Python inside the JVM does not find the packages of a virtual environment by itself.
    paths = [os.environ.get("PYTHONPATH", ""), sysconfig.get_path("purelib")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    stop = Stop()
    running = start(asked)
    waiting = threading.Thread(target=running.wait, daemon=True)
    waiting.start()
    while waiting.is_alive() and not stop:
        waiting.join(0.1)
    if stop:
        running.get_job_client().cancel().result()
    with suppress(Py4JError):
        get_gateway().jvm.System.exit(0)
    signal.alarm(10)
    with suppress(ChildProcessError):
        while True:
            os.wait()
    os._exit(0 if stop else 1)


if __name__ == "__main__":
    main()
