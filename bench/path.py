"""The whole path: `fugu run` beside the stock loop, in turn, over the same source topic."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from statistics import median

from bench.child import Measured, measure
from bench.client_parts import ClientParts
from bench.grid import Grid, figures
from bench.page import Page
from bench.parts import PARTS_OF_STAGES, Parts
from bench.pipeline import Workplace
from fugu.dataflows.pipeline.topics import find_topics
from tests.kafka.topics import TopicFactory


@dataclass(frozen=True)
class Round:
    """One measurement of each."""

    stock: Measured
    fugu: Measured


def measure_path(
    place: Workplace, partitions: int, records: int, rounds: int, say: Callable[[str], None]
) -> list[Round]:
    """Alternate, so that a machine that slows down slows both."""
    measured = []
    for number in range(1, rounds + 1):
        say(f"round {number} of {rounds}: stock loop")
        stock = _stock(place, partitions, records)
        say(f"round {number} of {rounds}: fugu run")
        measured.append(Round(stock, _fugu(place, partitions, records, number)))
    return measured


def _stock(place: Workplace, partitions: int, records: int) -> Measured:
    sink = TopicFactory(place.bootstrap)("stock-loop", partitions=partitions)
    arguments = ["-m", "bench.stock_loop", place.bootstrap, place.source, sink]
    return _measure(place, sink, partitions, records, arguments)


def _fugu(place: Workplace, partitions: int, records: int, number: int) -> Measured:
    file = place.pipeline(f"fugu-run-{number}")
    sink = find_topics(place.client, file.pipeline).sink.name
    return _measure(place, sink, partitions, records, ["-m", "fugu", "run", str(file.path)])


def _measure(
    place: Workplace, sink: str, partitions: int, records: int, arguments: list[str]
) -> Measured:
    with closing(place.client.reader(sink)) as reader:

        def published() -> int:
            return sum(bounds.end for bounds in reader.bounds(list(range(partitions))).values())

        return measure(arguments, place.folder / f"{sink}.log", records, published)


# Everything that one measurement of the path gave: data for `path_report`, and for machines.


@dataclass(frozen=True)
class Settings:
    """The options of a run, and the load of the machine before it (average of a minute)."""

    command: str
    records: int
    users: int
    partitions: int
    rounds: int
    load_before: float


@dataclass(frozen=True)
class Results:
    """`parts_of_run` is about the users of one partition of the run; `parts` about other counts."""

    settings: Settings
    path: list[Round]
    stock_client: ClientParts
    fugu_client: ClientParts
    parts_of_run: Parts
    parts: list[Parts]

    @property
    def stock(self) -> Measured:
        """The stock loop, medians over the rounds."""
        return _medians([one.stock for one in self.path])

    @property
    def fugu(self) -> Measured:
        """`fugu run`, medians over the rounds."""
        return _medians([one.fugu for one in self.path])

    @property
    def ratio(self) -> float:
        """Records/s of `fugu run` for each record/s of the stock loop."""
        return self.fugu.records_per_second / self.stock.records_per_second

    @property
    def document(self) -> dict[str, object]:
        """All of it, medians first."""
        medians = {"stock": asdict(self.stock), "fugu": asdict(self.fugu), "ratio": self.ratio}
        return {"medians": medians, **asdict(self)}


def _medians(measured: list[Measured]) -> Measured:
    columns = [asdict(one) for one in measured]
    return Measured(**{name: median(one[name] for one in columns) for name in columns[0]})


# The figures of the path as tables.


def path_page(results: Results) -> Page:
    """Return what a person wants to know, most important first."""
    return Page(
        "path",
        "Throughput",
        results.settings.command,
        results.settings.load_before,
        results.document,
        [_path(results), _parts(results), _batches(results), _scale(results)],
    )


def _path(results: Results) -> Grid:
    settings, stock, fugu = results.settings, results.stock, results.fugu
    rates = [(one.stock.records_per_second, one.fugu.records_per_second) for one in results.path]
    cpu = stock.cpu_seconds_per_million, fugu.cpu_seconds_per_million
    memory = stock.peak_mebibytes, fugu.peak_mebibytes
    return Grid(
        f"{settings.records:,} records by {settings.users:,} users, {settings.partitions} "
        f"partitions, real Kafka; median of {settings.rounds}",
        ["from first to last output", "stock loop", "fugu run", "fugu / stock"],
        [
            [
                "records/s",
                *figures(0, stock.records_per_second, fugu.records_per_second),
                f"{results.ratio:.2f}",
            ],
            *(
                [f"· round {number}", *figures(0, first, second), f"{second / first:.2f}"]
                for number, (first, second) in enumerate(rates, start=1)
            ),
            ["CPU s per million records", *figures(1, *cpu), f"{cpu[1] / cpu[0]:.2f}"],
            ["peak memory in MiB", *figures(0, *memory), f"{memory[1] / memory[0]:.2f}"],
            [
                "CPU s before the first output",
                *figures(2, stock.start_cpu_seconds, fugu.start_cpu_seconds),
                "",
            ],
        ],
    )


def _parts(results: Results) -> Grid:
    run, stock, fugu = results.parts_of_run, results.stock_client, results.fugu_client
    rows = [["client: consume", *figures(1, stock.consume, fugu.consume)]]
    rows += [[name, "", *cells] for name, cells in _stages([run])]
    rows.append(["client: produce", *figures(1, stock.produce, fugu.produce)])
    sums = stock.consume + stock.produce, fugu.consume + fugu.produce + _sum_of_stages(run)
    whole = results.stock.cpu_seconds_per_million, results.fugu.cpu_seconds_per_million
    rest = [process - parts for process, parts in zip(whole, sums, strict=True)]
    rows += [
        ["sum of client and stages", *figures(1, *sums)],
        ["whole process, as above", *figures(1, *whole)],
        ["difference: dataflow, state, waiting", *figures(1, *rest)],
    ]
    title = f"Parts of the run, each by itself; {run.users:,} users per partition"
    return Grid(title, ["CPU microseconds per record", "stock loop", "fugu run"], rows)


def _batches(results: Results) -> Grid:
    run = results.parts_of_run
    rows = []
    for part, in_a_loop in run.in_loops.items():
        per_batch = run.per_record[part]
        rows.append([part, *figures(2, in_a_loop, per_batch), f"{per_batch / in_a_loop:.2f}"])
    title = "What batches are worth: the same beside a plain loop over the records"
    return Grid(
        title, ["CPU microseconds per record", "plain loop", "per batch", "batch / loop"], rows
    )


def _scale(results: Results) -> Grid:
    parts = results.parts
    rows = [[name, *cells] for name, cells in _stages(parts)]
    rows += [
        ["a new user: pseudonym", *figures(1, *(one.per_new_user for one in parts))],
        ["an epoch: state, in ms", *figures(2, *(one.per_epoch for one in parts))],
    ]
    counts = [f"{one.users:,} user{'s' if one.users > 1 else ''}" for one in parts]
    return Grid("By users per partition", ["CPU microseconds per record", *counts], rows)


def _stages(measured: list[Parts]) -> list[tuple[str, list[str]]]:
    rows = []
    for stage, parts in PARTS_OF_STAGES.items():
        rows.append((stage, figures(1, *(one.per_record[stage] for one in measured))))
        for part in parts:
            rows.append((f"· {part}", figures(2, *(one.per_record[part] for one in measured))))
    return rows


def _sum_of_stages(parts: Parts) -> float:
    return sum(parts.per_record[stage] for stage in PARTS_OF_STAGES)
