"""The figures of the path as tables."""

from bench.grid import Grid, figures
from bench.page import Page
from bench.parts import PARTS_OF_STAGES, Parts
from bench.path_results import Results


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
