"""State in Kafka beside state on disk, as tables, and what the figures say about the goals."""

from statistics import median

from bench.grid import Grid, figures
from bench.kafka_state import (
    BEHIND_SESSION_SECONDS,
    KAFKA,
    RATIO,
    RESTORE_SECONDS,
    SESSION_SECONDS,
    TWICE,
    WARM_BEHIND_SESSION_SECONDS,
    Results,
)
from bench.page import Page


def kafka_state_page(results: Results) -> Page:
    """Return the page about what was measured."""
    settings = results.settings
    rounds = [f"round {number}" for number in range(1, settings.rounds + 1)]
    rates = [[name, *figures(0, median(found), *found)] for name, found in results.rates.items()]
    pairs = zip(results.rates[KAFKA], results.rates["store: disk"], strict=True)
    rates.append(
        ["store: kafka / store: disk", *figures(2, results.ratio, *(k / d for k, d in pairs))]
    )
    restored = results.restored
    starts = [one.start_seconds for one in restored]
    per_row = [one.bytes_per_row for one in restored]
    rest = [
        _row("bytes of the changelog per record", 1, results.bytes_per_record),
        _row("bytes of the changelog per row, everybody sends once", 1, per_row),
        _row(f"read {settings.rows:,} rows back, s", 1, [one.seconds for one in restored]),
        _row("start of a process until its next release, s", 1, starts),
        _row("no release after kill -9, s", 1, results.stood_still),
        _row("the same with a warm copy (standby: all), s", 1, results.stood_still_warm),
    ]
    processor = [
        _row(f"{count} {'copy' if count == 1 else 'copies'}", 1, found)
        for count, found in results.processor_microseconds.items()
    ]
    return Page(
        "kafka-state",
        "State in Kafka",
        settings.command,
        settings.load_before,
        results.document,
        [
            Grid(
                f"records/s, crr over 10 symbols, {settings.users:,} users, 4 partitions, "
                "state.every: 500ms",
                ["", "median", *rounds],
                rates,
            ),
            Grid("One partition, store: kafka", ["", "median", *rounds], rest),
            Grid(
                "Microseconds of processors for a record, 4 partitions",
                ["", "median", *rounds],
                processor,
            ),
        ],
        [
            "Bytes are keys and values of the state topic, not compressed, and before they are "
            f"compacted. Kill -9: a copy with {settings.takeover_users:,} users in one partition, "
            "which releases some hundred records/s; another copy is spare. Its session in the "
            f"group is {SESSION_SECONDS:.0f} s.",
            *_verdicts(results),
        ],
    )


def _row(name: str, decimals: int, found: list[float]) -> list[str]:
    return [name, *figures(decimals, median(found), *found)]


def _verdicts(results: Results) -> list[str]:
    restore, still = median(one.seconds for one in results.restored), median(results.stood_still)
    warm = median(results.stood_still_warm) - SESSION_SECONDS
    most = BEHIND_SESSION_SECONDS + SESSION_SECONDS
    return [
        f"- At least {RATIO} of the records/s of store: disk: {_said(results.ratio >= RATIO)}, "
        f"{results.ratio:.2f}.",
        f"- {results.settings.rows:,} rows are read back within {RESTORE_SECONDS:.0f} s: "
        f"{_said(restore <= RESTORE_SECONDS)}, {restore:.1f} s.",
        f"- A partition stands still for at most {most:.0f} s after kill -9: "
        f"{_said(still <= most)}, {still:.1f} s.",
        f"- With a warm copy, for at most {WARM_BEHIND_SESSION_SECONDS:.0f} s behind the session: "
        f"{_said(warm <= WARM_BEHIND_SESSION_SECONDS)}, {warm:.1f} s.",
        f"- Two copies release at least {TWICE} times as much as one, where each has a processor "
        f"of its own and the brokers keep up: {_said(results.gain >= TWICE)}, {results.gain:.2f} "
        "by the processor time that a record takes.",
    ]


def _said(reached: bool) -> str:
    return "yes" if reached else "no"
