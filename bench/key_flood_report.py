"""The figures of a key flood as tables."""

from dataclasses import asdict

from bench.grid import Grid, figures
from bench.key_flood import PERCENT, Flood
from bench.page import Page

_FULL = 30
"""Percent of the outcomes at which the table has long been full."""


def flood_page(measured: Flood) -> Page:
    """The runs beside each other, then their memory over time."""
    return Page(
        "flood",
        "A flood of new keys",
        measured.settings.command,
        measured.settings.load_before,
        asdict(measured),
        [_runs(measured), _memory(measured)],
        [
            "Every outcome was read back from Kafka and checked: in each partition the first keys "
            "up to the partition's share of `max_keys` are released, every other record has one "
            "dead letter, nothing is lost or published twice. A process that ends before it is "
            "told to has no figures here: the measurement fails. The runs come one after the "
            "other; where the machine was busy, compare CPU seconds.",
        ],
    )


def _runs(measured: Flood) -> Grid:
    settings, flood, known = measured.settings, measured.flood, measured.known
    reasons = sorted({*flood.outcomes.dead_letters, *known.outcomes.dead_letters})
    pairs = [
        ("records/s", 0, flood.measured.records_per_second, known.measured.records_per_second),
        (
            "CPU s per million records",
            1,
            flood.measured.cpu_seconds_per_million,
            known.measured.cpu_seconds_per_million,
        ),
        ("peak memory in MiB", 0, flood.measured.peak_mebibytes, known.measured.peak_mebibytes),
        ("state directory in MiB", 1, flood.state_bytes / 2**20, known.state_bytes / 2**20),
    ]
    return Grid(
        f"{settings.records:,} records, room for {settings.max_keys:,} keys, "
        f"{settings.partitions} partitions, real Kafka",
        [
            "fugu run",
            f"flood: {settings.records:,} keys",
            f"known: {settings.max_keys:,} keys",
            "flood / known",
        ],
        [
            ["releases", *figures(0, flood.outcomes.releases, known.outcomes.releases), ""],
            *(
                [
                    f"dead letters: {reason}",
                    *figures(
                        0, *(run.outcomes.dead_letters.get(reason, 0) for run in (flood, known))
                    ),
                    "",
                ]
                for reason in reasons
            ),
            *(
                [name, *figures(decimals, first, second), f"{first / second:.2f}"]
                for name, decimals, first, second in pairs
            ),
        ],
    )


def _memory(measured: Flood) -> Grid:
    runs = measured.flood.mebibytes, measured.known.mebibytes
    return Grid(
        "Resident memory by records that have an outcome",
        ["MiB", "flood", "known"],
        [
            *(
                [f"at {percent} %", *figures(0, *(run[percent] for run in runs))]
                for percent in PERCENT
            ),
            [
                f"100 % / {_FULL} %",
                *figures(2, *(run[100] / run[_FULL] for run in runs)),
            ],
        ],
    )
