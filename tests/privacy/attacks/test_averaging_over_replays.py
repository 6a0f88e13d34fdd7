"""Crash the pipeline again and again, collect what it publishes twice, and average.

Every replay publishes the same, so there is nothing to average: a reader of a thousand replays
knows what a reader of one knows. With noise from a generator the mean finds every truth.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fugu.operators.randomness import DrawScope
from tests.privacy.attacks.broken_draws import with_generator
from tests.privacy.attacks.pipelines import Pipeline, Seen, Victim, share_right
from tests.privacy.attacks.replay import records_of, replayed

REPLAYS = 100
ROOT = Path(__file__).parents[3]

from_the_beginning_and_from_the_middle = pytest.mark.parametrize("already", [0, 13])
"""The records published before the snapshot that every replay starts from."""


def replays(pipeline: Pipeline, victim: Victim, already: int) -> list[Seen]:
    """Return what is published after each crash."""
    records = records_of(victim)
    before = pipeline.publish(records[:already])
    snapshot = pipeline.snapshot()
    return [before | pipeline.restore(snapshot).publish(records[already:]) for _ in range(REPLAYS)]


@from_the_beginning_and_from_the_middle
def test_every_replay_publishes_the_same(victim: Victim, already: int) -> None:
    published = replays(victim.pipeline(), victim, already)
    assert all(seen == published[0] for seen in published)
    records = records_of(victim)
    guesses = victim.guesses(published, records)
    assert guesses.tolist() == victim.guesses(published[:1], records).tolist()
    assert share_right(guesses, records) < 0.9


def test_another_process_with_the_same_secret_publishes_the_same() -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "tests.privacy.attacks.replay"],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert finished.stdout == f"{replayed()}\n"


@from_the_beginning_and_from_the_middle
def test_with_fresh_noise_the_mean_finds_every_truth_that_is_replayed(
    victim: Victim, already: int
) -> None:
    def fresh(scope: DrawScope) -> DrawScope:
        return with_generator(scope, seed=already)

    records = records_of(victim)
    published = replays(victim.pipeline(fresh), victim, already)
    again = records[already:]
    assert share_right(victim.guesses(published, again), again) == 1.0
    assert share_right(victim.guesses(published[:1], records), records) < 0.9
