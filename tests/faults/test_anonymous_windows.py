"""Processes that are killed again and again release the windows of an undisturbed run."""

from collections import Counter
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import orjson

from fugu.dataflows.base.ticks import DISTINCT_KEYS
from tests.faults.feeding import PARTITIONS
from tests.faults.killed_shards import Whole, killed_and_undisturbed
from tests.faults.test_aggregate_crashes import before_time_begins, parts
from tests.kafka.records import NOW, Placed, Record, read_topic
from tests.kafka.topics import TopicFactory

PEOPLE, WINDOWS = 120, 12
WIDTH, QUANTUM = 4_000, 1_000
BEGIN = NOW // WIDTH * WIDTH
DIAGNOSES = ["Dengue", "H1N1", "Cholera", "Asthma"]
PLACES = ["clinic", "market", "school"]
OPERATOR = {
    "kind": "anonymize",
    "sensitive": "diagnosis",
    "taxonomy": {
        "Disease": {"Virus": ["Dengue", "H1N1"], "Bacteria": ["Cholera"], "Lung": ["Asthma"]}
    },
    "privacy_height": 2,
    "K": 3,
    "rho": 2,
    "quantum": "1s",
    "ticks": {"width": "4s", "grace": "1s"},
}


def test_killed_processes_release_the_windows_of_an_undisturbed_run(
    bootstrap: str, topics: TopicFactory, tmp_path: Path
) -> None:
    placed, refused = visits()
    whole = Whole(WINDOWS - 1, refused, partials=(WINDOWS - 1) * PARTITIONS)
    named = {"value": "place", "key": "pseudonym"}
    killed, undisturbed = killed_and_undisturbed(
        bootstrap, topics, tmp_path, placed, OPERATOR, whole, kills=2, **named
    )
    [released, *_] = read_topic(bootstrap, killed["sink"]["topic"]).values()
    assert released == read_topic(bootstrap, undisturbed["sink"]["topic"])[0]
    dead_letters = read_topic(bootstrap, killed["sink"]["dead_letters"])
    assert dead_letters == read_topic(bootstrap, undisturbed["sink"]["dead_letters"])
    reasons = Counter(
        orjson.loads(one.value or b"")["reason"] for part in dead_letters.values() for one in part
    )
    assert {"other_sensitive_value", "outside_domain", "field_missing"} <= reasons.keys()

    contents = [orjson.loads(record.value or b"") for record in released]
    heads = [one for one in contents if "window" in one]
    begins = [BEGIN + window * WIDTH for window in range(WINDOWS)]
    assert [one["start"] for one in heads if one["start"] >= BEGIN] == begins
    assert {one["window"] for one in heads if one["start"] >= BEGIN} == {"released"}
    no_attack_succeeds([one for one in contents if "points" in one])
    logs = "".join(path.read_text() for path in tmp_path.rglob("*.log"))
    public = [part for one in released for part in (one.key, one.value)]
    public += [one.value for part in dead_letters.values() for one in part]
    for raw in ("user-", *DIAGNOSES):
        assert raw not in logs
        assert not any(raw.encode() in (part or b"") for part in public)


def no_attack_succeeds(released: list[dict[str, Any]]) -> None:
    """Counted from what was published, by nothing of Fugu."""
    matching: dict[object, list[str]] = {}
    for one in released:
        points = [tuple(point) for point in one["points"]]
        for known in [*combinations(points, 1), *combinations(points, 2)]:
            matching.setdefault(known, []).append(one["diagnosis"])
    assert len(matching) > 10 * WINDOWS
    for diagnoses in matching.values():
        assert len(diagnoses) >= 3
        assert max(Counter(diagnoses).values()) * 2 <= len(diagnoses)


def visits() -> tuple[list[Placed], int]:
    """Everybody moves about, and some records are as they should not be."""
    random, timed, refused = Random(8), [], 0
    for window in range(WINDOWS):
        for who in range(PEOPLE):
            for second in random.sample(range(WIDTH // QUANTUM), 3):
                at = BEGIN + window * WIDTH + second * QUANTUM + random.randrange(QUANTUM)
                visit = {"at": at, "place": random.choice(PLACES), "diagnosis": DIAGNOSES[who % 4]}
                timed.append((at + random.randrange(700), who, visit))
                if random.random() < 0.03:
                    timed.append((at + 701, who, wrong(visit, random.randrange(3))))
                    refused += 1
    end = BEGIN + WINDOWS * WIDTH + QUANTUM
    for who in range(DISTINCT_KEYS * PARTITIONS):
        timed.append((end, who, {"at": end, "place": "clinic", "diagnosis": DIAGNOSES[who % 4]}))
    in_order = [
        Placed(who % PARTITIONS, Record(b"user-%d" % who, orjson.dumps(visit)))
        for _, who, visit in sorted(timed, key=lambda entry: entry[:2])
    ]
    return in_order, refused + sum(map(before_time_begins, parts(in_order)))


def wrong(visit: dict[str, Any], how: int) -> dict[str, Any]:
    """Another value than the person has, one that is not in the taxonomy, or no place."""
    match how:
        case 0:
            other = DIAGNOSES[(DIAGNOSES.index(visit["diagnosis"]) + 1) % len(DIAGNOSES)]
            return visit | {"diagnosis": other}
        case 1:
            return visit | {"diagnosis": "Plague"}
        case _:
            return {name: visit[name] for name in ("at", "diagnosis")}
