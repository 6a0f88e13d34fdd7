"""`make bench`: the whole path and its parts, on a Kafka of its own. About three minutes."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.console import Console

from bench.client_parts import (
    ClientParts,
    consume_stock,
    consume_with_fugu,
    produce_stock,
    produce_with_fugu,
)
from bench.kernel import measure_kernel
from bench.parts import lift_of, measure_parts
from bench.path import measure_path
from bench.pipeline import Workplace, example_stream
from bench.report import grids, markdown
from bench.results import Results, Settings
from dataflows.batches import Batch
from dataflows.flow import Plan
from dataflows.prepare import prepare
from dataflows.state.row_table import RowTable
from tests.kafka.broker import Broker
from tests.kafka.topics import TopicFactory

_DEFAULTS = (200_000, 2_000, 3)
_PARTITIONS = 4
_RECORDS_FOR_PARTS = 20_000
_BATCHES_BY_USERS = {1: (1, 1_000), 2_000: (4, 5_000), 100_000: (4, 5_000)}
_RESULTS = Path(__file__).parent / "results"

Say = Callable[[str], None]


def bench(
    records: Annotated[
        int, typer.Option(min=20_000, help="Records in the source topic.")
    ] = _DEFAULTS[0],
    users: Annotated[int, typer.Option(min=_PARTITIONS, help="Users who send them.")] = _DEFAULTS[
        1
    ],
    rounds: Annotated[
        int, typer.Option(min=1, help="Measurements, of which the median.")
    ] = _DEFAULTS[2],
    results: Annotated[Path, typer.Option(help="Where path.json and path.md go.")] = _RESULTS,
) -> None:
    """Measure `fugu run` beside a bare loop of stock kafka-python, and every part by itself."""
    command = f".venv/bin/python -m bench --records {records} --users {users} --rounds {rounds}"
    if (records, users, rounds) == _DEFAULTS:
        command = "make bench"
    settings = Settings(command, records, users, _PARTITIONS, rounds, os.getloadavg()[0])
    console = Console()
    with (
        console.status("starting Kafka") as status,
        TemporaryDirectory(prefix="fugu-bench-") as folder,
        Broker() as broker,
    ):
        source = TopicFactory(broker.bootstrap)("source", partitions=_PARTITIONS)
        place = Workplace(Path(folder), broker.bootstrap, source)
        measured = _measure(place, settings, status.update)
    results.mkdir(exist_ok=True)
    measured.write(results / "path.json")
    (results / "path.md").write_text(markdown(measured))
    for grid in grids(measured):
        console.print(grid.for_terminal(), "")
    console.print(
        f"Load average before: {settings.load_before:.1f}; above about 0.3, measure again."
    )
    console.print(f"Written to {results} as path.json and path.md. To measure again:  {command}")


def _measure(place: Workplace, settings: Settings, say: Say) -> Results:
    say(f"producing {settings.records:,} records")
    writer = place.client.writer()
    for outgoing in example_stream(settings.users, _PARTITIONS).outgoing(settings.records):
        writer.write(place.source, outgoing)
    writer.flush()
    writer.close()
    path = measure_path(place, _PARTITIONS, settings.records, settings.rounds, say)
    (plan,) = prepare(place.pipeline("parts"))
    try:
        say("clients")
        stock, fugu, batches = _clients(place, plan, settings.records)
        say("parts of a run")
        known = sorted({key or b"" for batch in batches for key in batch.keys})
        of_run = measure_parts(plan, known, batches)
        scaled = []
        for users, (count, size) in _BATCHES_BY_USERS.items():
            say(f"parts with {users:,} users")
            stream = example_stream(users)
            scaled.append(measure_parts(plan, stream.keys, stream.batches(count, size)))
        say("kernel")
        kernel = measure_kernel(plan, len(example_stream(1).alphabet))
    finally:
        plan.directory.unlock()
    return Results(settings, path, stock, fugu, of_run, scaled, kernel)


def _clients(
    place: Workplace, plan: Plan, records: int
) -> tuple[ClientParts, ClientParts, list[Batch]]:
    """Stock kafka-python, Fugu's client, and batches as Fugu's client returns them."""
    sink = TopicFactory(place.bootstrap)("stock-client", partitions=_PARTITIONS)
    stock = ClientParts(
        consume_stock(place.bootstrap, place.source, records),
        produce_stock(place.bootstrap, sink, _PARTITIONS, records),
    )
    consume, batches = consume_with_fugu(
        plan.client, place.source, _PARTITIONS, records, _RECORDS_FOR_PARTS
    )
    lift = lift_of(plan, plan.mechanism)
    table = RowTable(lift.start)
    released = [plan.publisher.releases(lift(plan.codec.decode(batch), table)) for batch in batches]
    outgoing = [
        replace(item, partition=partition) for item in released for partition in range(_PARTITIONS)
    ]
    produce = produce_with_fugu(plan.client, plan.fingerprint.sink_topic, outgoing, records)
    return stock, ClientParts(consume, produce), batches


if __name__ == "__main__":
    typer.run(bench)
