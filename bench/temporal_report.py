"""The figures of temporal perturbation as tables."""

from dataclasses import asdict
from statistics import median

from bench.grid import Grid, figures
from bench.page import Page
from bench.steady_streams import EPSILON, TICKS
from bench.temporal import FEW_USERS, PATH_WINDOW, TemporalResults


def temporal_page(results: TemporalResults) -> Page:
    """The pipeline on Kafka, then every mechanism without it."""
    return Page(
        "temporal",
        "Temporal perturbation",
        results.settings.command,
        results.settings.load_before,
        asdict(results),
        [_path(results), *(_grid(results, ticks) for ticks in TICKS)],
        [
            "Without Kafka: codec, operator with its state, and publisher in one process, CPU "
            "time; pass-through decodes and encodes the same batches, in turns. Every user sends a "
            "record of 120 bytes a second, of which about 20 are released. The threshold mechanism "
            f"has the smallest budget of its window, the others have {EPSILON:g} nats.",
            "State, without the key: in memory, columns and payloads; in a row log that holds the "
            "whole table; written, for a user who sent one record since the last snapshot, and CPU "
            f"microseconds to do so. Measured with {FEW_USERS:,} users.",
        ],
    )


def _path(results: TemporalResults) -> Grid:
    settings, path = results.settings, results.path
    pairs = [
        ("records/s", 0, [(r.stock.records_per_second, r.fugu.records_per_second) for r in path]),
        (
            "CPU s per million records",
            1,
            [(r.stock.cpu_seconds_per_million, r.fugu.cpu_seconds_per_million) for r in path],
        ),
        ("peak memory in MiB", 0, [(r.stock.peak_mebibytes, r.fugu.peak_mebibytes) for r in path]),
    ]
    rows = []
    for name, decimals, measured in pairs:
        stock, fugu = (median(values) for values in zip(*measured, strict=True))
        rows.append([name, *figures(decimals, stock, fugu), f"{fugu / stock:.2f}"])
    return Grid(
        f"threshold, k = {PATH_WINDOW}, sequence: {settings.records:,} records by "
        f"{settings.path_users:,} users, {settings.partitions} partitions, real Kafka; median of "
        f"{settings.rounds}",
        ["from first to last output", "stock loop", "fugu run", "fugu / stock"],
        rows,
    )


def _grid(results: TemporalResults, ticks: str) -> Grid:
    speeds = [speed for speed in results.speeds if speed.ticks == ticks]
    users = sorted({speed.users for speed in speeds})
    rows = []
    for size in (size for size in results.sizes if size.ticks == ticks):
        law = size.mechanism, size.window
        rows.append(
            [
                f"{size.mechanism}, {size.window}",
                *(
                    cell
                    for speed in speeds
                    if (speed.mechanism, speed.window) == law
                    for cell in (
                        *figures(0, 1e6 / speed.fugu),
                        *figures(2, speed.pass_through / speed.fugu),
                    )
                ),
                *figures(0, size.memory, size.stored, size.changed),
                *figures(1, size.microseconds),
            ]
        )
    rates = [name for count in users for name in (f"{count:,} users", "/ pass-through")]
    return Grid(
        f"Ticks: {ticks}; records/s without Kafka, and bytes of state a user",
        ["mechanism, window", *rates, "memory", "row log", "written", "µs"],
        rows,
    )
