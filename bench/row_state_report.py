"""The figures of the state store as tables."""

from dataclasses import asdict
from statistics import median

from bench.grid import Grid, figures
from bench.page import Page
from bench.row_state import FLOATS, StateResults

_MEBIBYTE = 2**20


def state_page(measured: StateResults) -> Page:
    """Epochs and restarts, beside the baseline."""
    settings = measured.settings
    return Page(
        "state",
        "The state store",
        settings.command,
        settings.load_before,
        _document(measured),
        [_epochs(measured), _restarts(measured)],
        [
            "Every write is on the disk before the next one begins, and both stores are on the "
            "same disk. Restarts read what was just written, so mostly from memory.",
        ],
    )


def _document(measured: StateResults) -> dict[str, object]:
    """Return the document without single epochs: a round has more than a hundred."""
    return {
        "settings": asdict(measured.settings),
        "row_log": [
            {
                "percent_changed": one.percent_changed,
                "median": asdict(one.median),
                "mean": asdict(one.mean),
                "new_generation": asdict(one.new_generation),
                "epochs_a_generation": one.epochs_a_generation,
                "shortest_restarts": one.shortest_restarts,
                "longest_restarts": one.longest_restarts,
            }
            for one in measured.row_log
        ],
        "pickled": asdict(measured.pickled),
    }


def _epochs(measured: StateResults) -> Grid:
    settings, logs, pickled = measured.settings, measured.row_log, measured.pickled
    medians, means = [one.median for one in logs], [one.mean for one in logs]
    generations = [one.new_generation for one in logs]
    seconds, mebibytes = median(pickled.epochs), pickled.bytes / _MEBIBYTE
    return Grid(
        f"One epoch of {settings.rows:,} rows of {FLOATS} floats; {settings.rounds} rounds",
        [
            "rows that changed",
            *(f"{one.percent_changed} %" for one in logs),
            "pickled into SQLite",
        ],
        [
            ["seconds, median", *figures(3, *(one.seconds for one in medians), seconds)],
            ["· pickled / row log", *figures(1, *(seconds / one.seconds for one in medians)), ""],
            ["seconds, mean", *figures(3, *(one.seconds for one in means), seconds)],
            ["· pickled / row log", *figures(1, *(seconds / one.seconds for one in means)), ""],
            ["MiB, median", *figures(1, *(one.bytes / _MEBIBYTE for one in medians), mebibytes)],
            ["MiB, mean", *figures(1, *(one.bytes / _MEBIBYTE for one in means), mebibytes)],
            ["new generation: seconds", *figures(3, *(one.seconds for one in generations)), ""],
            [
                "new generation: MiB",
                *figures(1, *(one.bytes / _MEBIBYTE for one in generations)),
                "",
            ],
            ["· once in epochs", *figures(0, *(one.epochs_a_generation for one in logs)), ""],
        ],
    )


def _restarts(measured: StateResults) -> Grid:
    logs, pickled = measured.row_log, median(measured.pickled.restarts)
    shortest = [median(one.shortest_restarts) for one in logs]
    longest = [median(one.longest_restarts) for one in logs]
    return Grid(
        "One restart",
        ["seconds", *(f"{one.percent_changed} %" for one in logs), "pickled into SQLite"],
        [
            ["just after a new generation", *figures(2, *shortest, pickled)],
            ["· pickled / row log", *figures(2, *(pickled / one for one in shortest)), ""],
            ["just before a new generation", *figures(2, *longest, pickled)],
            ["· pickled / row log", *figures(2, *(pickled / one for one in longest)), ""],
        ],
    )
