"""The figures of one and two processes as a table, and what they say about the claim."""

from statistics import median

from bench.grid import Grid, figures
from bench.page import Page
from bench.processes import CLAIM, Results


def processes_page(results: Results) -> Page:
    """Return what a person wants to know."""
    settings, rounds = results.settings, results.rounds
    medians = median(one.one for one in rounds), median(one.two for one in rounds)
    rows = [["median", *figures(0, *medians), *figures(2, results.ratio)]]
    rows += [
        [f"· round {number}", *figures(0, one.one, one.two), *figures(2, one.ratio)]
        for number, one in enumerate(rounds, start=1)
    ]
    grid = Grid(
        f"{settings.records:,} records by {settings.users:,} users, {settings.partitions} "
        "partitions and shards, real Kafka on the same machine",
        ["records/s", "1 process", "2 processes", "ratio"],
        rows,
    )
    return Page(
        "processes",
        "Processes",
        settings.command,
        settings.load_before,
        results.document,
        [grid],
        [
            "Counted while all partitions are worked on: all have begun, none has come to its end.",
            _verdict(results),
        ],
    )


def _verdict(results: Results) -> str:
    claim = f"Two processes do at least {CLAIM} times the records/s of one"
    if not results.is_claim_measured:
        return (
            f"{claim}: not measured. Two processors must be free beside the broker, and this "
            f"machine has {results.processors} in all; the ratio is for information only."
        )
    return f"{claim}: {'yes' if results.ratio >= CLAIM else 'no'}, {results.ratio:.2f}."
