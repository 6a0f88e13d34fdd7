"""An hour of everyday events in random order, against an oracle of every budget and every record.

Writes `results/random_events.txt`, which is committed.
"""

import time
from collections import Counter
from pathlib import Path

import pytest

from tests.faults.random_days import Days
from tests.faults.random_events import Tail, tail_of
from tests.faults.test_random_events import place_of
from tests.kafka.pipelines import SECRET, SECRET_VARIABLE
from tests.kafka.topics import TopicFactory

RESULTS = Path(__file__).parent / "results" / "random_events.txt"
SECONDS, EVENTS_EACH = 3_600, 100
"""Bound all of it, and the events of one pipeline."""


@pytest.mark.acceptance
def test_an_hour_of_random_events_keeps_every_budget(
    bootstrap: str, topics: TopicFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRET_VARIABLE, SECRET)
    pipelines, end = list[Days](), time.monotonic() + SECONDS
    while time.monotonic() < end:
        seed = len(pipelines)
        with tail_of(bootstrap) as consumer:
            place = place_of(bootstrap, topics, tmp_path / str(seed), Tail(consumer), seed=seed)
            pipelines.append(days := Days(place))
            while time.monotonic() < end and days.events < EVENTS_EACH:
                days.event()
    RESULTS.write_text("\n".join(told(pipelines)) + "\n")


def told(pipelines: list[Days]) -> list[str]:
    """Return the lines of the results; a violation would have ended the run."""
    oracles = [days.place.oracle for days in pipelines]
    figures = {
        "pipelines": len(pipelines),
        "events": sum(days.events for days in pipelines),
        "records sent": sum(len(oracle.sent) for oracle in oracles),
        "released, each once": sum(len(oracle.released) for oracle in oracles),
        "of these afresh, and charged": sum(oracle.fresh for oracle in oracles),
        "refused in the end": sum(len(oracle.refused_only) for oracle in oracles),
        "removed by retention": sum(len(oracle.gone) for oracle in oracles),
        "users": sum(len(oracle.spent) for oracle in oracles),
        "violations": 0,
    }
    counts = sum((days.place.counts for days in pipelines), Counter[str]())
    return [
        f"{SECONDS // 60} minutes of random events, 40 people at a time, and an oracle that knows",
        "what was sent, what was published, and what everybody may have spent.",
        "",
        *(f"{name:<32} {number:>8,}" for name, number in figures.items()),
        "",
        *(f"{name:<32} {number:>8,}" for name, number in sorted(counts.items())),
    ]
