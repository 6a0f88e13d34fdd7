"""The figures of real-time release as tables."""

from collections.abc import Sequence
from dataclasses import asdict

from bench.grid import Grid, figures
from bench.page import Page
from bench.realtime import COPY, PARTS, PASS_THROUGH, ROUNDS, STEP, Advanced


def realtime_page(measured: Sequence[Advanced], command: str, load_before: float) -> Page:
    """Return what is written and shown."""
    return Page(
        "realtime",
        "Real-time release",
        command,
        load_before,
        {
            "command": command,
            "load_before": load_before,
            "rounds": ROUNDS,
            "steps": [asdict(one) for one in measured],
        },
        [_speeds(measured), _parts(measured)],
        [
            "A step releases the next value of every stream: of the bins of one row, which are the "
            "groups of an aggregate, or of rows with one bin each. One process, no Kafka, CPU "
            f"time, median of {ROUNDS} rounds in turns. Pass-through decodes and encodes a record "
            "of 80 bytes for each stream; copy is numpy's, of the values alone.",
            "Words are keyed hashes, one of two words for each stream; binding is another hash for "
            "each row, of all that its noise is bound to; noise is drawing from the table, and the "
            "grid; annotations are all that is left: budgets, errors, and copies of columns. "
            "Binding, noise and filter are done once more to be measured, so that what is left is "
            "a difference, and may be below zero.",
        ],
    )


def _speeds(measured: Sequence[Advanced]) -> Grid:
    rows = [
        [
            _shape(one),
            *figures(0, 1e6 / one.of_a_stream(STEP), 1e6 / one.of_a_stream(PASS_THROUGH)),
            *figures(2, one.of_a_stream(PASS_THROUGH) / one.of_a_stream(STEP)),
            *figures(0, one.microseconds[STEP] / one.microseconds[COPY]),
            *figures(0, one.state_bytes / one.streams),
        ]
        for one in measured
    ]
    return Grid(
        "Streams that are advanced in a second, and bytes of state of each",
        ["rows x bins", "streams/s", "pass-through", "ratio", "time / copy", "state"],
        rows,
    )


def _parts(measured: Sequence[Advanced]) -> Grid:
    rows = []
    for one in measured:
        shares = (one.microseconds[part] / one.microseconds[STEP] for part in PARTS)
        rows.append(
            [
                _shape(one),
                *figures(3, one.of_a_stream(STEP), *(one.of_a_stream(part) for part in PARTS)),
                *(f"{share:.0%}" for share in shares),
            ]
        )
    return Grid(
        "CPU µs of a stream by part, and shares of a step",
        ["rows x bins", "step", *PARTS, *(f"{part}, share" for part in PARTS)],
        rows,
    )


def _shape(one: Advanced) -> str:
    return f"{one.rows:,} x {one.bins:,}"
