"""Run `python -m bench peers` as its options say."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.comparison.contestants import JOB, OPERATORS, Contestant
from bench.comparison.data import ALPHABET, write_model
from bench.comparison.measuring import Bench
from bench.comparison.report import draw, peers_page
from bench.comparison.rounds import Settings, measure_all
from bench.comparison.topics import Topics
from bench.page import Page

USERS = 10_000
PARTITIONS = 4


class UnknownContestant(ValueError):
    """`--only` names nobody."""


@dataclass(frozen=True)
class Choice:
    """Choose how long is measured, and whom."""

    rounds: int
    seconds: float
    records: int
    only: tuple[str, ...] = ()
    quick: bool = False
    """Without warm-up: the figures say nothing."""

    @property
    def command(self) -> str:
        """To measure the same again."""
        only = "".join(f' --only "{name}"' for name in self.only)
        size = f"--rounds {self.rounds} --seconds {self.seconds:g} --records {self.records}"
        return f".venv/bin/python -m bench peers {'--quick' if self.quick else size}{only}"

    def contestants(self) -> list[Contestant]:
        """All, or those that are named."""
        everyone = {one.name: one for one in (*JOB, *OPERATORS)}
        for name in self.only:
            if name not in everyone:
                raise UnknownContestant(f"--only: there is {', '.join(everyone)}; not {name!r}")
        return [everyone[name] for name in self.only or everyone]


def measure_peers(
    choice: Choice, folder: Path, bootstrap: str, picture: Path, say: Callable[[str], None]
) -> tuple[Page, list[str]]:
    """Measure, and draw the picture; also who failed."""
    contestants = choice.contestants()
    settings = Settings(
        choice.command,
        choice.records,
        USERS,
        PARTITIONS,
        choice.rounds,
        choice.seconds,
        os.getloadavg()[0],
    )
    bench = Bench(
        Topics(bootstrap),
        folder,
        write_model(folder, ALPHABET),
        USERS,
        PARTITIONS,
        choice.seconds,
        warms_up=not choice.quick,
    )
    results = measure_all(bench, contestants, settings, say)
    if any(one.speeds for one in results.results):
        draw(results, picture)
    return peers_page(results), results.failures
