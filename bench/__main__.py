"""`python -m bench`: Fugu beside its peers, and the path (`make bench`); latency, how costs scale,
one process beside two, the state store, state in Kafka, a flood of new keys, steps of conditional
randomized response, local operators, temporal perturbation, aggregates (also under policies),
real-time release, and anonymised windows."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.console import Console

from bench import key_flood, native_client, processes, row_state, temporal, without_kafka
from bench.child import ROOT, ChildFailed
from bench.comparison.command import PARTITIONS, USERS, Choice, UnknownContestant, measure_peers
from bench.comparison.contestants import FUGU
from bench.comparison.data import ALPHABET, write_model
from bench.comparison.environments import NotInstalled, environment
from bench.comparison.measuring import Bench
from bench.comparison.topics import Topics
from bench.kafka_state import KafkaState, kafka_state_page
from bench.kafka_state import Settings as KafkaStateSettings
from bench.key_flood import flood_page
from bench.latency.measuring import Settings as LatencySettings
from bench.latency.measuring import latency_page, measure_latency
from bench.outcomes import WrongOutcomes
from bench.path import Settings, path_page
from bench.pipeline import Workplace
from bench.processes import processes_page
from bench.scaling.measuring import Scaling
from bench.scaling.measuring import Settings as ScalingSettings
from bench.scaling.report import draw as draw_scaling
from bench.scaling.report import scaling_page
from bench.temporal import temporal_page
from bench.throughput import measure_throughput
from bench.without_kafka import RESULTS, Folder
from tests.kafka.broker import Broker
from tests.kafka.kafka_process import BrokerError
from tests.kafka.topics import TopicFactory

_PEERS = Choice(rounds=5, seconds=2.5, records=2_400_000)
_QUICK = Choice(rounds=1, seconds=1.0, records=300_000, quick=True)
_SCALING = 3
_PATH = (200_000, 2_000, 3)
_LATENCY_RATES, _LATENCY_ROUNDS = (1_000.0, 20_000.0, 100_000.0), 3
_PROCESSES = (2_000_000, 2_000, 3)
_KAFKA_STATE = (3, 2_400_000, 10_000, 1_000_000, 100_000)
_FLOOD = (1_000_000, 100_000)
_TEMPORAL = (100_000, 2_000, 3, 100_000)
_PARTITIONS = 4
_FewRecords = Annotated[
    bool, typer.Option("--quick", help="Few users and records, to see that it works.")
]
_Results = Annotated[
    Path | None, typer.Option(help="Where the files go; bench/results if all is measured as usual.")
]

app = typer.Typer(add_completion=False)
app.add_typer(without_kafka.app)


@app.callback(invoke_without_command=True)
def bench(context: typer.Context) -> None:
    """Measure the path, and Fugu beside its peers, or what a command names."""
    if context.invoked_subcommand is None:
        path()
        peers()


@app.command()
def peers(
    rounds: Annotated[int, typer.Option(min=1, help="Interleaved rounds.")] = _PEERS.rounds,
    seconds: Annotated[
        float, typer.Option(min=1, help="Length of a measurement.")
    ] = _PEERS.seconds,
    records: Annotated[
        int, typer.Option(min=50_000, help="Records in the source topic.")
    ] = _PEERS.records,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Measure this contestant, by its name in peers.json; may be repeated."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="One short round, to see that everything works.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print what peers.json holds.")] = False,
    results: _Results = None,
) -> None:
    """Compare Fugu with what people would use instead, doing the same job on the same records.

    About half an hour, and some more when the peers' environments are made.
    """
    choice = Choice(rounds, seconds, records, tuple(only or ()))
    if quick:
        choice = replace(_QUICK, only=choice.only)
    usual = choice == _PEERS
    folder = results or (RESULTS if usual else ROOT / "build" / "bench")
    picture = (ROOT / "docs" / "pictures" if usual and not results else folder) / "benchmark.png"
    with _kafka() as (place, bootstrap, say):
        page, failures = measure_peers(choice, place, bootstrap, picture, say)
    page.write(folder)
    if json:
        sys.stdout.buffer.write((folder / "peers.json").read_bytes())
    else:
        page.show(folder)
    if failures:
        raise ChildFailed("\n".join(["failed, and shown as such:", *failures]))


@app.command()
def path(
    records: Annotated[int, typer.Option(min=20_000, help="Records in the source topic.")] = _PATH[
        0
    ],
    users: Annotated[int, typer.Option(min=_PARTITIONS, help="Users who send them.")] = _PATH[1],
    rounds: Annotated[int, typer.Option(min=1, help="Measurements, of which the median.")] = _PATH[
        2
    ],
    results: Folder = RESULTS,
) -> None:
    """Compare `fugu run` with a bare loop of stock kafka-python, and every part by itself.

    About three minutes.
    """
    command = (
        f".venv/bin/python -m bench path --records {records} --users {users} --rounds {rounds}"
    )
    if (records, users, rounds) == _PATH:
        command = "make bench"
    settings = Settings(command, records, users, _PARTITIONS, rounds, os.getloadavg()[0])
    with _kafka() as (folder, bootstrap, say):
        source = TopicFactory(bootstrap)("source", partitions=_PARTITIONS)
        measured = measure_throughput(Workplace(folder, bootstrap, source), settings, say)
    path_page(measured).publish(results)


@app.command()
def latency(
    rate: Annotated[
        list[float] | None, typer.Option(min=1, help="Records a second; may be repeated.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Interleaved rounds.")] = _LATENCY_ROUNDS,
    seconds: Annotated[float, typer.Option(min=1, help="Length of a measurement.")] = 10.0,
    every: Annotated[str, typer.Option(help="Length of an epoch.")] = "1s",
    results: Folder = RESULTS,
) -> None:
    """Measure the age of releases, with epochs and without, and the parts of an epoch's end.

    About eight minutes.
    """
    rates = rate or list(_LATENCY_RATES)
    asked = " ".join(f"--rate {one:g}" for one in rates)
    command = (
        f".venv/bin/python -m bench latency {asked} --rounds {rounds} --seconds {seconds:g} "
        f"--every {every}"
    )
    settings = LatencySettings(command, rates, rounds, every, os.getloadavg()[0])
    with _kafka() as (place, bootstrap, say):
        bench = Bench(
            Topics(bootstrap), place, write_model(place, ALPHABET), USERS, PARTITIONS, seconds
        )
        runs = measure_latency(bench, settings, say)
    latency_page(settings, runs).publish(results)


@app.command(name="processes")
def one_and_two(
    records: Annotated[
        int, typer.Option(min=20_000, help="Records in the source topic.")
    ] = _PROCESSES[0],
    users: Annotated[int, typer.Option(min=_PARTITIONS, help="Users who send them.")] = _PROCESSES[
        1
    ],
    rounds: Annotated[
        int, typer.Option(min=1, help="Measurements of each, of which the median.")
    ] = _PROCESSES[2],
    results: Folder = RESULTS,
) -> None:
    """Compare `fugu run --processes 1` with `--processes 2`.

    About three minutes. With fewer than three processors the ratio is for information only.
    """
    command = (
        f".venv/bin/python -m bench processes --records {records} --users {users} --rounds {rounds}"
    )
    if (records, users, rounds) == _PROCESSES:
        command = ".venv/bin/python -m bench processes"
    settings = Settings(command, records, users, _PARTITIONS, rounds, os.getloadavg()[0])
    with _kafka() as (folder, bootstrap, say):
        source = TopicFactory(bootstrap)("source", partitions=_PARTITIONS)
        measured = processes.measure_processes(Workplace(folder, bootstrap, source), settings, say)
    processes_page(measured).publish(results)


@app.command()
def scaling(
    rounds: Annotated[int, typer.Option(min=1, help="Runs of each case.")] = _SCALING,
    quick: _FewRecords = False,
    results: _Results = None,
) -> None:
    """Measure the cost of a record by users, symbols and skew; restart; bytes of state.

    About 20 minutes.
    """
    usual = not quick and rounds == _SCALING
    command = f".venv/bin/python -m bench scaling --rounds {rounds}{' --quick' if quick else ''}"
    if usual:
        command = ".venv/bin/python -m bench scaling"
    folder = results or (RESULTS if usual else ROOT / "build" / "bench")
    picture = (ROOT / "docs" / "pictures" if usual and not results else folder) / "scaling.png"
    settings = ScalingSettings(command, rounds, quick, os.getloadavg()[0])
    with _kafka() as (place, bootstrap, say):
        python = environment(FUGU.environment, say)
        measured = Scaling(Topics(bootstrap), place, python).measure(settings, say)
    draw_scaling(measured, picture)
    scaling_page(measured).publish(folder)


@app.command(name="kafka-state")
def kafka_state(
    rounds: Annotated[int, typer.Option(min=1, help="Measurements of each.")] = _KAFKA_STATE[0],
    quick: _FewRecords = False,
    results: _Results = None,
) -> None:
    """Compare a state in Kafka with one on disk; read rows back; take over after kill -9.

    About 12 minutes.
    """
    usual = not quick and rounds == _KAFKA_STATE[0]
    command = f".venv/bin/python -m bench kafka-state --rounds {rounds}{' --quick' * quick}"
    if usual:
        command = ".venv/bin/python -m bench kafka-state"
    sizes = (1_500_000, 2_000, 20_000, 5_000) if quick else _KAFKA_STATE[1:]
    settings = KafkaStateSettings(command, rounds, *sizes, os.getloadavg()[0])
    with _kafka() as (folder, bootstrap, say):
        measured = KafkaState(Topics(bootstrap), folder).measure(settings, say)
    kafka_state_page(measured).publish(results or (RESULTS if usual else ROOT / "build" / "bench"))


@app.command()
def flood(
    records: Annotated[
        int, typer.Option(min=20_000, help="Records, each with a key of its own.")
    ] = _FLOOD[0],
    max_keys: Annotated[int, typer.Option(min=_PARTITIONS, help="Keys that have room.")] = _FLOOD[
        1
    ],
    results: Folder = RESULTS,
) -> None:
    """Measure `fugu run` under a flood of new keys: outcomes, memory, throughput.

    About five minutes.
    """
    command = f".venv/bin/python -m bench flood --records {records} --max-keys {max_keys}"
    if (records, max_keys) == _FLOOD:
        command = ".venv/bin/python -m bench flood"
    settings = key_flood.Settings(command, records, max_keys, _PARTITIONS, os.getloadavg()[0])
    with _kafka() as (folder, bootstrap, say):
        measured = key_flood.measure_flood(folder, bootstrap, settings, say)
    flood_page(measured).publish(results)


@app.command(name="temporal")
def temporal_perturbation(
    records: Annotated[int, typer.Option(min=20_000, help="Records on Kafka.")] = _TEMPORAL[0],
    users: Annotated[int, typer.Option(min=_PARTITIONS, help="Users on Kafka.")] = _TEMPORAL[1],
    rounds: Annotated[int, typer.Option(min=1, help="Measurements on Kafka.")] = _TEMPORAL[2],
    most_users: Annotated[
        int, typer.Option(min=temporal.FEW_USERS + 1, help="Users of the largest tables.")
    ] = _TEMPORAL[3],
    results: Folder = RESULTS,
) -> None:
    """Compare temporal perturbation with the stock loop; measure mechanisms.

    About ten minutes, and 5 GB of memory; a minute and little memory with `--most-users 2000`.
    """
    command = (
        f".venv/bin/python -m bench temporal --records {records} --users {users} "
        f"--rounds {rounds} --most-users {most_users}"
    )
    if (records, users, rounds, most_users) == _TEMPORAL:
        command = ".venv/bin/python -m bench temporal"
    settings = temporal.Settings(
        command, records, rounds, users, _PARTITIONS, most_users, os.getloadavg()[0]
    )
    with _kafka() as (folder, bootstrap, say):
        measured = temporal.measure_temporal(folder, bootstrap, settings, say)
    temporal_page(measured).publish(results)


@app.command()
def client(
    records: Annotated[int, typer.Option(help="Records of a round.")] = 400_000,
    rounds: Annotated[int, typer.Option(help="Rounds of each way, in turns.")] = 5,
) -> None:
    """Measure what passing a record on costs: confluent-kafka beside compiled librdkafka calls."""
    with _kafka() as (_, bootstrap, _say):
        costs = native_client.measure_clients(bootstrap, records, rounds)
    for line in native_client.costs_in_words(costs):
        print(line)


@contextmanager
def _kafka() -> Iterator[tuple[Path, str, Callable[[str], None]]]:
    """Hold a folder, a broker's address, and how to say what goes on."""
    with (
        Console().status("starting Kafka") as status,
        TemporaryDirectory(prefix="fugu-bench-") as folder,
        Broker(light=False) as broker,
    ):
        yield Path(folder), broker.bootstrap, status.update


if __name__ == "__main__":
    try:
        app()
    except (
        BrokerError,
        ChildFailed,
        NotInstalled,
        UnknownContestant,
        WrongOutcomes,
        row_state.WrongState,
    ) as error:
        sys.exit(f"bench: {error}")
