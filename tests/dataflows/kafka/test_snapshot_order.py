"""The snapshot of a sink comes last: after acknowledgements, and after what else an epoch keeps."""

from typing import cast

from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.sink import KafkaSink, KafkaSinkPart
from tests.dataflows.kafka.test_behind_all import Noting


def test_a_sink_waits_for_what_is_written_beside_the_dataflow() -> None:
    writer = Noting()
    sink = KafkaSink(
        cast(Client, None), writer, "log", {0: 0}, None, wait=lambda: writer.calls.append("wait")
    )
    KafkaSinkPart(sink, writer, 0, 0, 9, {}).snapshot()
    assert writer.calls == ["flush", "wait"]
