"""Records of strangers by the million through `fugu run`: random bytes, and damaged JSON.

A `Shape` writes records, and says what a pipeline must release of each. Another format is another
shape: `look` puts its records into a topic, runs a pipeline over them, and holds that the process
never ends, that every record is released or a dead letter, and that nothing else comes out.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import orjson
from confluent_kafka import Consumer, Producer, TopicPartition

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.kafka.connection import Library
from tests.dataflows.records.mutated import CANARY, ZONES
from tests.dataflows.records.scanned.random_records import RandomRecords
from tests.kafka.clients import kafka_section
from tests.kafka.pages import Pages
from tests.kafka.pipelines import Document, running, write_pipeline
from tests.kafka.ports import free_ports
from tests.kafka.records import NOW
from tests.kafka.topics import TopicFactory

PARTITIONS = 4
_LARGEST_KEY = 65_536
_SECONDS = 3_600
_RELEASE = re.compile(rb'\{"(?:zone|x)":("[a-z]+"|[0-9])\}')
_ASKED_EVERY = 0.5

Headers = list[tuple[str, bytes]]


@dataclass(frozen=True)
class Written:
    """A record as a stranger writes it."""

    key: bytes | None
    value: bytes | None
    headers: Headers = field(default_factory=list)


@dataclass(frozen=True)
class Shape:
    """A kind of source: its section beside the topic, and the operator's alphabet.

    `records` writes as many as are asked of it. `truth` is the symbol that a record holds, None
    where it is to be refused, `UNKNOWN` where either is right, and else a `Perhaps`. Dead letters
    may name no fields but `names`, each of which is to match as a whole.
    """

    source: Mapping[str, Any]
    alphabet: Sequence[str | int]
    records: Callable[[Random], Iterator[Written]]
    truth: Callable[[Written], object]
    names: Sequence[str]


UNKNOWN = object()


@dataclass(frozen=True)
class Perhaps:
    """Say what a record holds that may be refused; it is asked only of one that is released."""

    symbol: Callable[[], object]


@dataclass(frozen=True)
class Outcome:
    """What became of the records of a shape, and what was said meanwhile."""

    became: Counter[str]
    seconds: float
    """From the start of the process to the last record."""

    def line(self, name: str) -> str:
        """Return it for people."""
        total = self.became.total()
        told = ", ".join(f"{what} {count:,}" for what, count in self.became.most_common())
        return f"{name}: {total:,} records, {total / self.seconds:,.0f}/s: {told}"


def look(
    shape: Shape,
    library: Library,
    count: int,
    seed: int,
    bootstrap: str,
    topics: TopicFactory,
    folder: Path,
) -> Outcome:
    """Send so many records of a shape through a pipeline, and hold what the module says."""
    source = topics("hostile", partitions=PARTITIONS)
    truths = _put(bootstrap, source, islice(shape.records(Random(seed)), count), shape)
    assert len(truths) == count
    port = free_ports(1)
    pages, out, dead = Pages(port), f"{source}.out", f"{source}.out.dead"
    began = time.monotonic()
    with running(write_pipeline(folder, document(shape, library, bootstrap, source, port))) as run:

        def all_written() -> bool:
            time.sleep(_ASKED_EVERY)
            try:
                sums = pages.sums("fugu_records_out_total")
            except OSError:
                return False
            return sums.get(out, 0) + sums.get(dead, 0) >= count

        run.wait_until(all_written, seconds=_SECONDS)
        seconds = time.monotonic() - began
        pages.get("/healthz")
        assert run.stop() == 0, run.stderr
        said = [run.stderr.encode(), *pages.seen]
    became, decided = Counter[str](), set[int]()
    for one in _all_of(bootstrap, dead):
        letter = orjson.loads(one.value or b"")
        _require_coordinates_only(letter, source, shape)
        number = letter["offset"] * PARTITIONS + letter["partition"]
        assert number not in decided
        truth = truths[number]
        assert truth is None or truth is UNKNOWN or isinstance(truth, Perhaps), letter
        decided.add(number)
        became[letter["reason"]] += 1
        said.append(repr(one).encode())
    for one in _all_of(bootstrap, out):
        form = _RELEASE.fullmatch(one.value or b"")
        assert form is not None
        number = one.time - NOW
        assert number not in decided
        truth = truths[number]
        truth = truth.symbol() if isinstance(truth, Perhaps) else truth
        assert truth is UNKNOWN or truth == orjson.loads(form[1]), number
        decided.add(number)
        became["released"] += 1
        said.append(repr(one).encode())
    assert decided == set(range(count))
    assert not [text for text in said if CANARY.encode() in text]
    assert became[Reason.UNREADABLE] == 0
    return Outcome(became, seconds)


def document(shape: Shape, library: Library, bootstrap: str, source: str, port: int) -> Document:
    """A pipeline that releases the truth: with this epsilon hardly ever anything else."""
    transactional = library == "librdkafka"
    state = {"store": "kafka"} if transactional else {"directory": "state"}
    return {
        "name": source,
        "source": {"topic": source, "partitioner": "unchecked", **shape.source},
        "operator": {"kind": "grr", "alphabet": list(shape.alphabet), "epsilon": 50},
        "sink": {"topic": f"{source}.out", "create": True},
        "kafka": kafka_section(bootstrap, library),
        "state": {**state, "every": "500ms"},
        "metrics": {"port": port},
        "secret": {"env": "FUGU_TEST_SECRET"},
    }


def _require_coordinates_only(letter: dict[str, object], source: str, shape: Shape) -> None:
    assert letter.keys() == {"topic", "partition", "offset", "reason", "field"}
    assert letter["topic"] == source
    assert letter["reason"] in list(Reason)
    named = letter["field"]
    assert named is None or any(re.fullmatch(one, str(named)) for one in shape.names), named


def _put(bootstrap: str, topic: str, records: Iterator[Written], shape: Shape) -> list[object]:
    """Write records to the partitions in turn, a millisecond apart; return the truth of each."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 20}
    )
    truths, failed = list[object](), list[object]()

    def delivered(error: object, _: object) -> None:
        if error is not None:
            failed.append(error)

    for number, one in enumerate(records):
        truths.append(shape.truth(one))
        while True:
            try:
                producer.produce(
                    topic,
                    one.value,
                    one.key,
                    number % PARTITIONS,
                    on_delivery=delivered,
                    timestamp=NOW + number,
                    headers=[*one.headers],
                )
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    assert producer.flush(120) == 0
    assert not failed
    return truths


@dataclass(frozen=True)
class _Read:
    key: bytes | None
    value: bytes | None
    headers: str
    time: int


def _all_of(bootstrap: str, topic: str) -> Iterator[_Read]:
    """Yield all that is committed in a topic."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": f"{topic}.reader",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "enable.partition.eof": True,
    }
    with closing(Consumer(settings)) as consumer:
        partitions = consumer.list_topics(topic).topics[topic].partitions
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        ended = set[int]()
        while len(ended) < len(partitions):
            for message in consumer.consume(10_000, 1.0):
                if message.error() is not None:
                    ended.add(message.partition() or 0)
                else:
                    headers = repr(message.headers())
                    yield _Read(message.key(), message.value(), headers, message.timestamp()[1])


# JSON, and what else comes where it is expected

_ODD: list[bytes] = [
    *(b"1e999", b"-1e999", b"9" * 400, b"1" * 4_301, b"1E-400", b"NaN", b"Infinity", b"-Infinity"),
    *(b'"\\ud800"', b'"\\udc00\\ud800"', b'"\\ud83d\\udc21"', b'"\\u0000"', b'"\xed\xa0\x80"'),
    *(b"\xff", b"\x00", b"\xef\xbb\xbf", b"\xff\xfe", b'"', b"\\", b"\\u", b"\\ud8", b"{", b"}"),
    *(
        b"[",
        b"]",
        b",",
        b":",
        b"null",
        b"true",
        b'""',
        b"{}",
        b"[]",
        b"1.0",
        b"0.25",
        b"-0",
        b"1e0",
    ),
    *(b"[" * 100, b"[" * 70 + b"]" * 70, b'{"a":' * 200, b'"rest"', b'"light"', b'"zone"', b'"x"'),
    *(b'"__debezium_unavailable_value"', b'"payload":', b'"schema":', b'"after":', b'"op":"d"'),
    *(b'"user":"\\ud800"', b'"user":1.5', b'"user":17', b'"user":""', b'"zone":"rest"', b'"x":2'),
]
_HEADER_NAMES = ["ce_specversion", "ce_id", "ce_", CANARY, "", "ce_\N{BLOWFISH}", "content-type"]
_DEEPEST_CHECKED = 60


def strange(random: Random, whole: Callable[[], object]) -> Iterator[Written]:
    """Write random bytes, records of every shape, and damaged ones of what `whole` makes."""
    others: Iterator[bytes | None] = iter(())
    while True:
        kind = random.random()
        if kind < 0.1:
            value: bytes | None = random.randbytes(random.randrange(80))
        elif kind < 0.4:
            value = next(others, b"")
            if value == b"":
                others = iter(RandomRecords(random.randrange(2**32)).some(2_000))
        else:
            value = orjson.dumps(whole())
            for _ in range(random.choice([0, 0, 1, 1, 2, 4])):
                value = _damaged(random, value)
        yield Written(strange_key(random), value, strange_headers(random))


def _damaged(random: Random, value: bytes) -> bytes:
    at = random.randrange(len(value) + 1)
    match random.randrange(6):
        case 0:
            return value[:at] + random.choice(_ODD) + value[at:]
        case 1:
            return value[:at] + random.choice(_ODD) + value[at + random.randrange(9) :]
        case 2:
            return value[:at] + random.randbytes(1) + value[at + 1 :]
        case 3:
            return value[:at]
        case 4:
            return _instead(random, value)
        case _:
            return value[:at] + value[random.randrange(len(value) + 1) :]


def _instead(random: Random, value: bytes) -> bytes:
    """Put something odd in the place of a whole value, so that most of it stays JSON."""
    places = [found.span(1) for found in re.finditer(rb":\s*(\"[^\"]*\"|[0-9.]+|null)", value)]
    if not places:
        return value
    begin, end = random.choice(places)
    return value[:begin] + random.choice(_ODD) + value[end:]


def strange_key(random: Random) -> bytes | None:
    """A key, which may be none, empty, random or very long."""
    match random.randrange(200):
        case 0:
            return None
        case 1:
            return b""
        case 2:
            return random.randbytes(12)
        case 3 if random.random() < 0.05:
            return CANARY.encode() + b"k" * random.choice([65_536, 65_525, 65_524])
        case number:
            return f"{CANARY}-{number}".encode()


def strange_headers(random: Random) -> Headers:
    """Headers, some of which an envelope would read."""
    if random.random() < 0.7:
        return []
    contents = [b"1.0", b"1.0", b"0.3", b"\xff", CANARY.encode(), b""]
    some = [random.choice(_HEADER_NAMES) for _ in range(random.randrange(1, 4))]
    return [(name, random.choice(contents)) for name in some]


def _json(value: bytes) -> object:
    """Read JSON by Python's own reader; `ValueError` where it is none."""

    def refused(_: str) -> object:
        raise ValueError

    def number(digits: str) -> object:
        return int(digits) if len(digits) < 400 else inf

    return json.loads(value.decode(), parse_constant=refused, parse_int=number)


def _symbol(shape_path: Sequence[str], alphabet: Sequence[str | int], parsed: object) -> object:
    found = _followed(parsed, shape_path)
    return next((one for one in alphabet if type(one) is type(found) and one == found), None)


def _followed(parsed: object, path: Sequence[str]) -> object:
    for step in path:
        parsed = parsed.get(step) if isinstance(parsed, dict) else None
    return parsed


def _is_key(key: bytes | None) -> bool:
    return key is not None and 0 < len(key) <= _LARGEST_KEY


def is_user(user: object) -> bool:
    """Whether a field with this in it names a user."""
    if isinstance(user, str):
        content = user.encode("utf-8", "surrogatepass")
        is_text = not any("\ud800" <= character <= "\udfff" for character in user)
        return is_text and _is_key(content)
    return type(user) is int and -(2**63) <= user < 2**64


def _truth(read: Callable[[object, Headers], object]) -> Callable[[Written], object]:
    """Return the truth about records of JSON, from what holds the fields."""

    def truth(record: Written) -> object:
        if record.value is None:
            return None
        try:
            parsed = _json(record.value)
        except RecursionError:
            return UNKNOWN
        except ValueError:
            return None
        return read(parsed, record.headers)

    return truth


def _plain(alphabet: Sequence[str | int]) -> Shape:
    def records(random: Random) -> Iterator[Written]:
        return strange(random, lambda: {"zone": random.choice([*ZONES, CANARY]), "note": CANARY})

    def truth(record: Written) -> object:
        return read(record) if _is_key(record.key) else None

    read = _truth(lambda parsed, _: _symbol(["zone"], alphabet, parsed))
    return Shape({"value": "zone"}, alphabet, records, truth, ["zone"])


def _nested() -> Shape:
    """Integers, which may be floats or text, of users in a field."""
    numbers = [0, 1, 2]

    def records(random: Random) -> Iterator[Written]:
        return strange(
            random,
            lambda: {
                "data": {
                    "x": random.choice([0, 1, 2, 1.0, "2", "2.0", 0.5, CANARY, 3]),
                    "user": random.choice([f"{CANARY}-7", 17, "17"]),
                    "note": CANARY,
                },
                "more": [{"x": 1, "note": CANARY}],
            },
        )

    def read(parsed: object, _: Headers) -> object:
        found = _followed(parsed, ["data", "x"])
        if not isinstance(parsed, dict) or not is_user(_followed(parsed, ["data", "user"])):
            return None
        if isinstance(found, str):
            if not re.fullmatch(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", found):
                return None
            found = float(found)
        is_number = isinstance(found, int | float) and not isinstance(found, bool)
        return next((one for one in numbers if is_number and one == found), None)

    source = {"value": "data.x", "key": {"field": "data.user"}, "coerce": "numbers"}
    return Shape(source, numbers, records, _truth(read), [r"data\.x", r"data\.user"])


def _changes() -> Shape:
    def records(random: Random) -> Iterator[Written]:
        return strange(random, lambda: _change(random))

    def read(parsed: object, _: Headers) -> object:
        if isinstance(parsed, dict) and "payload" in parsed and "schema" in parsed:
            parsed = parsed["payload"]
        if _followed(parsed, ["op"]) not in ("c", "r", "u"):
            return None
        user = _followed(parsed, ["after", "user"])
        if not is_user(user) or user == "__debezium_unavailable_value":
            return None
        return _symbol(["after", "zone"], ZONES, parsed)

    source = {"value": "after.zone", "key": {"field": "after.user"}, "format": "debezium"}
    names = ["op", "after", r"after\.zone", r"after\.user"]
    return Shape(source, ZONES, records, _truth(read), names)


def _change(random: Random) -> object:
    row = {"zone": random.choice([*ZONES, CANARY]), "user": f"{CANARY}-1", "note": CANARY}
    operation = random.choice(["c", "u", "r", "u", "d", "t", CANARY])
    change = {"op": operation, "before": {"zone": CANARY, "user": CANARY}, "after": row}
    return {"schema": {}, "payload": change} if random.random() < 0.3 else change


def _events() -> Shape:
    def records(random: Random) -> Iterator[Written]:
        return strange(random, lambda: _event(random))

    def truth(record: Written) -> object:
        return read(record) if _is_key(record.key) else None

    def in_event(parsed: object, headers: Headers) -> object:
        versions = [content for name, content in headers if name == "ce_specversion"]
        readable = [one.decode() for one in versions if one != b"\xff"]
        if readable:
            return _symbol(["zone"], ZONES, parsed) if readable[-1] == "1.0" else None
        is_event = _followed(parsed, ["specversion"]) == "1.0"
        return _symbol(["data", "zone"], ZONES, parsed) if is_event else None

    read = _truth(in_event)
    source = {"value": "data.zone", "format": "cloudevents"}
    return Shape(source, ZONES, records, truth, ["specversion", r"data\.zone"])


def _event(random: Random) -> object:
    data = {"zone": random.choice([*ZONES, CANARY]), "note": CANARY}
    version = random.choice(["1.0", "1.0", "1.0", "0.3", 1.0])
    event = {"specversion": version, "id": CANARY, "data": data, "subject": CANARY}
    return event if random.random() < 0.6 else data


SHAPES: Mapping[str, Shape] = {
    "json": _plain(ZONES),
    "nested json with coerce and a user in a field": _nested(),
    "debezium with a user in a field": _changes(),
    "cloudevents": _events(),
}
