"""Show latencies as a table, and what the ends of epochs were busy with."""

from collections.abc import Sequence
from dataclasses import asdict
from statistics import median

from bench.grid import Grid, figures
from bench.latency.measuring import Part, Run, Settings
from bench.page import Page


def latency_page(settings: Settings, runs: Sequence[Run]) -> Page:
    """Make the page of a measurement."""
    grids = [_latencies(settings, runs)]
    grids += [
        _parts(f"{title} at {rate:,.0f} records/s: an epoch's end, ms", one)
        for title, rate, one in _cases(runs)
        if one[0].parts and title != "Fugu, no epochs"
    ]
    return Page(
        "latency",
        "Latency",
        settings.command,
        settings.load_before,
        {"settings": asdict(settings), "runs": [asdict(one) for one in runs]},
        grids,
        [
            "From the broker's append of a record to that of its release; medians of the rounds.",
            "An epoch's end lasts from the first snapshot to the next look at the source. Parts "
            "are those of the dataflow's thread; blocks are written beside it.",
        ],
    )


def _latencies(settings: Settings, runs: Sequence[Run]) -> Grid:
    rows = []
    for title, rate, some in _cases(runs):
        of = [one.latency for one in some]
        rows.append(
            [
                title,
                *figures(0, rate),
                *figures(0, *(median(getattr(one, name) for one in of) for name in ("p50", "p99"))),
                *figures(0, max(one.largest for one in of)),
                *figures(0, 100 * median(one.processors for one in of)),
            ]
        )
    header = ["ms", "records/s", "p50", "p99", "largest", "CPU %"]
    return Grid(f"Latency, {settings.rounds} rounds", header, rows)


def _parts(title: str, runs: Sequence[Run]) -> Grid:
    found: dict[str, list[Part]] = {}
    for run in runs:
        for part in run.parts:
            found.setdefault(part.name, []).append(part)
    rows = [
        [
            name,
            *figures(1, median(part.median for part in parts), median(part.p90 for part in parts)),
            *figures(1, max(part.largest for part in parts)),
        ]
        for name, parts in found.items()
    ]
    return Grid(title, ["part", "median", "p90", "largest"], rows)


def _cases(runs: Sequence[Run]) -> list[tuple[str, float, list[Run]]]:
    cases: dict[tuple[str, float], list[Run]] = {}
    for run in runs:
        cases.setdefault((run.title, run.latency.records_per_second), []).append(run)
    return [(title, rate, some) for (title, rate), some in cases.items()]
