"""Bad records end as dead letters without payload, and what is private is nowhere outside."""

from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest
from kafka import KafkaConsumer

from tests.dataflows.records.bad_records import CANARY, REFUSED
from tests.kafka.pipelines import fugu, pipeline_document, running, write_pipeline
from tests.kafka.records import NOW, Placed, Record, end_offsets, produce, read_topic
from tests.kafka.topics import TopicFactory

NEIGHBOURS = 3
HEADERS = ((CANARY, CANARY.encode()), ("fugu-release", CANARY.encode()))
NEIGHBOUR = Record(
    f"bob-{CANARY}".encode(), f'{{"zone": "light", "note": "{CANARY}"}}'.encode(), HEADERS
)


@dataclass(frozen=True)
class Outcome:
    """Everything outside the trusted zone after a run over good and bad records in turns."""

    source: str
    sanitized: list[Record]
    dead_letters: list[Record]
    stderr: str
    state: Path
    report: str


@pytest.fixture(scope="module")
def outcome(
    bootstrap: str, topics: TopicFactory, tmp_path_factory: pytest.TempPathFactory
) -> Outcome:
    source = topics("bad-input", configs={"max.message.bytes": "8000000"})
    produce(bootstrap, source, [Placed(0, record) for record in good_and_bad()])
    directory = tmp_path_factory.mktemp("bad-input")
    sink = f"{source}.out"
    path = write_pipeline(directory, pipeline_document(bootstrap, source, sink))
    with (
        running(path) as process,
        closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer,
    ):
        process.wait_until(lambda: f"{sink}.dead" in consumer.topics())
        process.wait_until(
            lambda: (
                sum(end_offsets(consumer, sink) + end_offsets(consumer, f"{sink}.dead"))
                >= len(good_and_bad())
            )
        )
        assert process.stop() == 0, process.stderr
    page = directory / "report.html"
    fugu("report", path, "--kafka", "-o", page)
    return Outcome(
        source,
        read_topic(bootstrap, sink)[0],
        read_topic(bootstrap, f"{sink}.dead")[0],
        process.stderr,
        directory / "state" / "shard-0000",
        page.read_text(),
    )


def good_and_bad() -> list[Record]:
    """A bad record, then its good neighbours, and so on."""
    mixed: list[Record] = []
    for (key, value), _, _ in REFUSED.values():
        mixed.append(Record(key, value, HEADERS, timestamp=NOW + 1 + len(mixed)))
        mixed += [NEIGHBOUR] * NEIGHBOURS
    return mixed


def test_every_bad_record_is_a_dead_letter_with_its_reason_and_no_payload(
    outcome: Outcome,
) -> None:
    assert [orjson.loads(record.value or b"") for record in outcome.dead_letters] == [
        {
            "topic": outcome.source,
            "partition": 0,
            "offset": number * (NEIGHBOURS + 1),
            "reason": reason,
            "field": field or None,
        }
        for number, (_, reason, field) in enumerate(REFUSED.values())
    ]


def test_the_privacy_card_counts_them_by_reason(outcome: Outcome) -> None:
    for reason, count in Counter(reason for _, reason, _ in REFUSED.values()).items():
        assert f'<th scope="row">{reason}</th><td class="number">{count}</td>' in outcome.report
    assert f"{len(REFUSED)} dead letters in {outcome.source}.out.dead." in outcome.report


def test_a_dead_letter_has_no_key_and_the_time_of_its_record(outcome: Outcome) -> None:
    assert {record.key for record in outcome.dead_letters} == {None}
    times = [NOW + 1 + number * (NEIGHBOURS + 1) for number in range(len(REFUSED))]
    assert [record.timestamp for record in outcome.dead_letters] == times


def test_every_neighbour_is_sanitized(outcome: Outcome) -> None:
    assert len(outcome.sanitized) == NEIGHBOURS * len(REFUSED)
    assert {record.timestamp for record in outcome.sanitized} == {NEIGHBOUR.timestamp}
    assert len({record.key for record in outcome.sanitized}) == 1
    assert {tuple(orjson.loads(record.value or b"")) for record in outcome.sanitized} == {
        ("zone", "confidence")
    }


def test_no_header_of_the_input_is_passed_on(outcome: Outcome) -> None:
    for record in outcome.sanitized + outcome.dead_letters:
        assert [name for name, _ in record.headers] == ["fugu-release", "fugu-guarantee"]


def test_what_is_private_is_nowhere_outside(outcome: Outcome) -> None:
    outside = [*map(repr, outcome.sanitized + outcome.dead_letters)]
    outside.append(outcome.stderr)
    outside.append((outcome.state / "fingerprint.json").read_text())
    hidden = [CANARY, CANARY.encode().hex(), "bob-", "eve-", "note"]
    assert [word for word in hidden for text in outside if word in text] == []


def test_the_state_is_readable_by_its_owner_only(outcome: Outcome) -> None:
    files = [outcome.state, *outcome.state.rglob("*")]
    assert len(files) >= 5
    assert {path.stat().st_mode & 0o077 for path in files} == {0}
