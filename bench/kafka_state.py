"""State in Kafka beside state on disk: records/s in turn, bytes of the changelog, reading back, and
how long a partition stands still after `kill -9`.
"""

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Event, Thread

from confluent_kafka import Consumer, TopicPartition

from bench.child import ChildFailed
from bench.comparison.contestants import FUGU, Fugu, Place
from bench.comparison.data import ALPHABET, Writing, fill, stream_of, write_model
from bench.comparison.measuring import Watched, speed
from bench.comparison.topics import Topics
from bench.grid import Grid, figures
from bench.page import Page
from bench.stream import key_of
from fugu.dataflows.flows.state_in_kafka import SETTINGS

RATIO, RESTORE_SECONDS, BEHIND_SESSION_SECONDS, SESSION_SECONDS = 0.8, 20.0, 10.0, 10.0
"""Goals: records/s of those with a state on disk, reading a million rows back, taking over."""
WARM_BEHIND_SESSION_SECONDS, TWICE = 3.0, 1.7
"""Goals of a warm copy, and of two copies beside one, in records/s for each processor second."""
STORES = {
    "store: disk": ({"transactions": False}, {"every": "500ms"}),
    "store: disk, transactions": ({"transactions": True}, {"every": "500ms"}),
    "store: kafka": ({}, {"store": "kafka", "every": "500ms"}),
}
"""Sections `kafka` and `state` of what is compared."""
KAFKA = "store: kafka"
COPIES = (1, 2)
_PARTITIONS = 4
_WHOLE = "1073741824"
"""A segment that is written to is not compacted, so every byte can be counted."""
_TAKEN_OVER = re.compile(r"partition \d+: taken over at offset \d+, (\d+) streams, ([\d.]+) s")
_WARM_UP, _SECONDS = 1.5, 3.0
_FED_PAUSE_SECONDS = 0.002
_OVER_SECONDS = 1.0
"""After it, what a copy that was killed had committed is read."""
_PATIENCE_SECONDS = 120.0


@dataclass(frozen=True)
class Settings:
    """Hold what was asked for, and how busy the machine was (load average of a minute)."""

    command: str
    rounds: int
    records: int
    users: int
    rows: int
    takeover_users: int
    load_before: float


@dataclass(frozen=True)
class Restored:
    """Reading rows of one partition back, and the start of a process until its next release."""

    rows: int
    seconds: float
    start_seconds: float
    bytes_per_row: float


@dataclass(frozen=True)
class Results:
    """Records/s of each store by rounds, bytes a record and row, and seconds without a release.

    `processor_microseconds` are those of all copies, for a record, by the number of copies.
    """

    settings: Settings
    rates: dict[str, list[float]]
    bytes_per_record: list[float]
    restored: list[Restored]
    stood_still: list[float]
    stood_still_warm: list[float]
    processor_microseconds: dict[int, list[float]]

    @property
    def gain(self) -> float:
        """Return how much more two copies release than one, each with a processor of its own."""
        one, two = (median(self.processor_microseconds[count]) for count in COPIES)
        return 2 * one / two

    @property
    def ratio(self) -> float:
        """Records/s for each record/s with a state on disk, the median over rounds."""
        pairs = zip(self.rates[KAFKA], self.rates["store: disk"], strict=True)
        return median(kafka / disk for kafka, disk in pairs)

    @property
    def document(self) -> dict[str, object]:
        """All of it."""
        return {"ratio": self.ratio, "gain": self.gain, **asdict(self)}


@dataclass(frozen=True)
class KafkaState:
    """Measure Fugu with these topics, in this folder."""

    topics: Topics
    folder: Path

    def measure(self, settings: Settings, say: Callable[[str], None]) -> Results:
        """Everything; the stores take turns."""
        rates: dict[str, list[float]] = {name: [] for name in STORES}
        bytes_per_record, restored = [], list[Restored]()
        stood_still, warm = list[float](), list[float]()
        processor: dict[int, list[float]] = {count: [] for count in COPIES}
        say(f"producing {settings.records:,} records")
        source = self.topics.make("source", _PARTITIONS)
        stream = stream_of(settings.users, _PARTITIONS)
        fill(self.topics.bootstrap, source, stream, settings.records)
        for number in range(1, settings.rounds + 1):
            for name in STORES:
                say(f"round {number} of {settings.rounds}: {name}")
                with self._placed(source, _PARTITIONS) as placed:
                    rates[name].append(self._rate(placed, name, settings))
                    if name == KAFKA:
                        bytes_per_record.append(placed.state_bytes() / settings.records)
            for count in COPIES:
                say(f"round {number} of {settings.rounds}: processors of {count}")
                processor[count].append(self._processor(count, settings))
        self.topics.remove(source)
        for number in range(1, settings.rounds + 1):
            say(f"restore {number} of {settings.rounds}, {settings.rows:,} rows")
            restored.append(self._restored(settings.rows))
            say(f"takeover {number} of {settings.rounds}")
            stood_still.append(self._stood_still(settings.takeover_users))
            warm.append(self._stood_still(settings.takeover_users, standby="all"))
        return Results(settings, rates, bytes_per_record, restored, stood_still, warm, processor)

    def _processor(self, count: int, settings: Settings) -> float:
        """Microseconds of processors for a record, once so many copies share the partitions."""
        with ExitStack() as stack:
            source = stack.enter_context(self.topics.fresh("shared", _PARTITIONS))
            placed = stack.enter_context(self._placed(source, _PARTITIONS))
            copies = [stack.enter_context(placed.fugu(KAFKA, settings.users)) for _ in range(count)]
            first = copies[0]
            first.wait_for(
                lambda _: all("taken over" in one.said for one in copies), placed.published
            )
            began = sum(one.cost().cpu_seconds for one in copies)
            stream = stream_of(settings.users, _PARTITIONS)
            fill(self.topics.bootstrap, source, stream, settings.records)
            first.wait_for(lambda now: now >= settings.records, placed.published)
            spent = sum(one.cost().cpu_seconds for one in copies) - began
            for one in copies:
                one.stop()
        return spent / settings.records * 1e6

    def _rate(self, placed: "Placed", name: str, settings: Settings) -> float:
        with placed.fugu(name, settings.users) as watched:
            found = speed(
                watched,
                placed.published,
                warm_up=_WARM_UP,
                seconds=_SECONDS,
                source_records=settings.records,
            )
            watched.wait_for(lambda now: now >= settings.records, placed.published)
            watched.stop()
        return found.records_per_second

    def _restored(self, rows: int) -> Restored:
        with self.topics.fresh("rows", 1) as source, self._placed(source, 1) as placed:
            sent = stream_of(rows, 1).one_each()
            self._send(source, sent, rows)
            with placed.fugu(KAFKA, rows) as watched:
                watched.wait_for(lambda now: now >= rows, placed.published)
                watched.stop()
            kept = placed.state_bytes() / rows
            self._send(source, stream_of(rows, 1).one_each(), 100)
            began, before = time.perf_counter(), placed.published()
            with placed.fugu(KAFKA, rows) as watched:
                watched.wait_for(lambda now: now > before, placed.published)
                took = time.perf_counter() - began
                found = _TAKEN_OVER.search(watched.said)
                watched.stop()
            if found is None or int(found[1]) != rows:
                raise ChildFailed(f"{rows:,} rows were not read back")
        return Restored(rows, float(found[2]), took, kept)

    def _stood_still(self, users: int, standby: str = "none") -> float:
        """Seconds from `kill -9` to the next committed release, under a steady load."""
        with ExitStack() as stack:
            source = stack.enter_context(self.topics.fresh("taken-over", 1))
            placed = stack.enter_context(self._placed(source, 1))
            self._send(source, stream_of(users, 1).one_each(), users)
            first = stack.enter_context(placed.fugu(KAFKA, users))
            first.wait_for(lambda now: now >= users, placed.published)
            second = stack.enter_context(placed.fugu(KAFKA, users, standby=standby))
            second.wait_for(lambda _: "copy " in second.said, placed.published)
            stack.enter_context(self._fed(source, users))
            with self._committed(placed.place.sink) as arrived:
                while not arrived():
                    time.sleep(_FED_PAUSE_SECONDS)
                first.kill()
                killed = time.perf_counter()
                while not (found := arrived()) or found - killed < _OVER_SECONDS:
                    if time.perf_counter() - killed > _PATIENCE_SECONDS:
                        raise ChildFailed(f"nobody took over:\n{second.said[-2_000:]}")
            second.stop()
        return found - killed

    def _send(self, source: str, sent: Iterator[tuple[int, bytes]], count: int) -> None:
        with Writing(self.topics.bootstrap) as writing:
            for user, value in islice(sent, count):
                writing.send(source, 0, key_of(user), value)

    @contextmanager
    def _fed(self, source: str, users: int) -> Iterator[None]:
        """Some hundred records a second, by a thread of its own."""
        stop = Event()

        def feed() -> None:
            with Writing(self.topics.bootstrap) as writing:
                for user, value in stream_of(users, 1).records():
                    writing.send(source, 0, key_of(user), value)
                    if stop.wait(_FED_PAUSE_SECONDS):
                        return

        thread = Thread(target=feed)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    @contextmanager
    def _committed(self, sink: str) -> Iterator[Callable[[], float | None]]:
        """When the next committed release came; None if none has for a tenth of a second."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.topics.bootstrap,
                "group.id": "bench-takeover",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        with closing(consumer):
            _, end = consumer.get_watermark_offsets(TopicPartition(sink, 0))
            consumer.assign([TopicPartition(sink, 0, end)])

            def arrived() -> float | None:
                message = consumer.poll(0.1)
                return None if message is None or message.error() else time.perf_counter()

            yield arrived

    @contextmanager
    def _placed(self, source: str, partitions: int) -> Iterator["Placed"]:
        settings = {**SETTINGS, "segment.bytes": _WHOLE}
        with (
            self.topics.sink(partitions) as sink,
            self.topics.counted(sink, partitions) as published,
            self.topics.fresh("state", partitions, **settings) as state,
            TemporaryDirectory(prefix="state-", dir=self.folder) as name,
        ):
            folder = Path(name)
            model = write_model(folder, ALPHABET)
            place = Place(self.topics.bootstrap, source, sink, model, folder)
            yield Placed(self.topics, place, state, partitions, published)


@dataclass
class Placed:
    """One pipeline with topics of its own; `published` counts what is committed in the sink."""

    topics: Topics
    place: Place
    state: str
    partitions: int
    published: Callable[[], int]
    started: int = 0

    def fugu(self, store: str, users: int, **more: str) -> Watched:
        """`fugu run`, once more; `more` is about the state."""
        kafka, state = STORES[store]
        self.started += 1
        own = {"topic": self.state} if store == KAFKA else {}
        room = {"max_keys": users, "max_megabytes": 16_384}
        contestant: Fugu = replace(
            FUGU,
            kafka={**FUGU.kafka, **kafka},
            state={**state, **own, **room, **more},
            pipeline=self.place.sink,
        )
        folder = self.place.folder / str(self.started)
        folder.mkdir()
        command = contestant.command(Path(sys.executable), replace(self.place, folder=folder))
        return Watched(command, {"TMPDIR": str(folder)}, folder / "log")

    def state_bytes(self) -> int:
        """Keys and values in the state topic."""
        return sum(
            len(message.key() or b"") + len(message.value() or b"")
            for partition in range(self.partitions)
            for messages in self.topics.messages(self.state, partition)
            for message in messages
        )


# State in Kafka beside state on disk, as tables, and what the figures say about the goals.


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
