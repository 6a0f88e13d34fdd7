"""Anybody changes policies at any time, and processes are killed: what was promised is kept."""

from collections import Counter
from datetime import datetime
from itertools import count
from pathlib import Path
from random import Random

import pytest

from tests.privacy.policies.household import OPERATORS, PARTITIONS, pipeline, record, written
from tests.privacy.policies.judge import Judge
from tests.privacy.policies.life import Life, Unclear, Wanted
from tests.privacy.policies.randomly import NAMES, Wisher
from tests.privacy.policies.wishes import Grid

GRIDS = (
    Grid("UTC", datetime(2026, 5, 4)),
    Grid("Europe/Berlin", datetime(2026, 3, 27, 12)),
    Grid("Europe/Berlin", datetime(2026, 10, 23, 12)),
)
KINDS = sorted(OPERATORS)
TICKS = 60
NOTICE = 10
COLLECTIONS = ("home", "cabin")


class Course:
    """Hold one pipeline for some days, with changes by everybody, and the judge beside it."""

    def __init__(self, seed: int, directory: Path) -> None:
        self.random = Random(seed)
        self.grid = GRIDS[seed % len(GRIDS)]
        self.wisher = Wisher(self.random, self.grid)
        first = self.grid.first_tick
        wishes = {
            name: [self.wisher.wish(one, first) for one in self.random.sample(NAMES, 2)]
            for name in COLLECTIONS
        }
        kind = KINDS[seed // len(GRIDS) % len(KINDS)]
        self.pipeline = pipeline(directory, written(self.grid, wishes), kind)
        self.adapts = self.pipeline.strategy.adapts
        self.judge = Judge({name: Life(self.grid, NOTICE) for name in COLLECTIONS})
        for name, life in self.judge.lives.items():
            life.configure(wishes[name])
        self.truth: dict[int, int] = {}
        self.following = first
        self.changes: Counter[str] = Counter()

    def run(self) -> None:
        """Run some days."""
        first = self.following
        for tick in count(first):
            if self.following >= first + TICKS:
                break
            values = [self.random.choice([0, 10, 4000]) for _ in range(PARTITIONS)]
            self.truth[tick] = sum(values)
            for partition in self.random.sample(range(PARTITIONS), PARTITIONS):
                while self.random.random() < 0.4:
                    self._change()
                self.pipeline.partial(partition, tick, values[partition])
                self._merge()
        self.judge.finish()

    def _change(self) -> None:
        """Send a change, which the next tick that is released is the first to know of."""
        name = self.random.choice(COLLECTIONS)
        policy, wish, effective = self.wisher.change(self.judge.lives[name], self.following)
        try:
            fate = self.judge.lives[name].tell(Wanted(policy, wish, effective), self.following)
        except Unclear:
            self.changes["unclear"] += 1
            return
        self.changes[fate.value] += 1
        self.pipeline.change(f"{name}/{policy}".encode(), record(wish, effective))
        self._merge()

    def _merge(self) -> None:
        for tick, figure in self.pipeline.released():
            assert tick == self.following
            self.judge.tick(tick, self.truth[tick], figure, adapts=self.adapts)
            self.following += 1


@pytest.mark.parametrize("seed", range(24))
def test_random_changes(seed: int, tmp_path: Path) -> None:
    course = Course(seed, tmp_path)
    course.run()
    print(course.changes, course.judge.seen)
