"""Everything about throughput: the whole path, and every part of it by itself."""

from collections.abc import Callable
from dataclasses import replace

from bench.client_parts import (
    ClientParts,
    consume_stock,
    consume_with_fugu,
    produce_stock,
    produce_with_fugu,
)
from bench.parts import lift_of, measure_parts
from bench.path import Results, Settings, measure_path
from bench.pipeline import Workplace, example_stream
from bench.stream import produce
from fugu.dataflows.base.batches import Batch
from fugu.dataflows.flows.starting import prepared
from fugu.dataflows.flows.streams import StreamsPlan
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.state.row_table import RowTable
from tests.kafka.topics import TopicFactory

_RECORDS_FOR_PARTS = 20_000
_BATCHES_BY_USERS = {1: (1, 1_000), 2_000: (4, 5_000), 100_000: (4, 5_000)}


def measure_throughput(place: Workplace, settings: Settings, say: Callable[[str], None]) -> Results:
    """Fill the source topic, then measure over it."""
    partitions = settings.partitions
    say(f"producing {settings.records:,} records")
    stream = example_stream(settings.users, partitions)
    produce(place.client, place.source, stream.outgoing(settings.records))
    path = measure_path(place, partitions, settings.records, settings.rounds, say)
    (plan,) = prepared(place.pipeline("parts"), None, StopFlag())
    assert isinstance(plan, StreamsPlan)
    try:
        say("clients")
        stock, fugu, batches = _clients(place, plan, partitions, settings.records)
        say("parts of a run")
        known = sorted({key or b"" for batch in batches for key in batch.keys})
        of_run = measure_parts(plan, known, batches)
        scaled = []
        for users, (count, size) in _BATCHES_BY_USERS.items():
            say(f"parts with {users:,} users")
            stream = example_stream(users)
            scaled.append(measure_parts(plan, stream.keys, stream.batches(count, size)))
    finally:
        plan.directory.unlock()
    return Results(settings, path, stock, fugu, of_run, scaled)


def _clients(
    place: Workplace, plan: StreamsPlan, partitions: int, records: int
) -> tuple[ClientParts, ClientParts, list[Batch]]:
    """Stock kafka-python, Fugu's client, and batches as Fugu's client returns them."""
    sink = TopicFactory(place.bootstrap)("stock-client", partitions=partitions)
    stock = ClientParts(
        consume_stock(place.bootstrap, place.source, records),
        produce_stock(place.bootstrap, sink, partitions, records),
    )
    consume, batches = consume_with_fugu(
        plan.client, place.source, partitions, records, _RECORDS_FOR_PARTS
    )
    lift = lift_of(plan, plan.stage.mechanism)
    table = RowTable(lift.start)
    released = [plan.publisher.releases(lift(plan.codec.decode(batch), table)) for batch in batches]
    outgoing = [
        replace(item, partition=partition) for item in released for partition in range(partitions)
    ]
    produce = produce_with_fugu(plan.client, plan.fingerprint.sink_topic, outgoing, records)
    return stock, ClientParts(consume, produce), batches
