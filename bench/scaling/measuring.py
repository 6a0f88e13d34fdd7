"""Vary one thing at a time, and make the records of each case."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Literal

import numpy as np
import orjson

from bench.child import ChildFailed
from bench.comparison.contestants import FUGU, OPERATORS, Fugu, Place
from bench.comparison.data import ALPHABET, STAYS, TICK_MILLISECONDS, Writing, model_document
from bench.comparison.measuring import Watched
from bench.comparison.topics import Topics
from bench.stream import key_of
from fugu.operators.mechanism import Integers

Skew = Literal["uniform", "Zipf(1.2)", "half under one key"]
ZIPF = 1.2
DENSE = 100
"""Larger alphabets have models of sparse rows."""
_SEED = 20260102


@dataclass(frozen=True)
class Case:
    """A source topic: everybody sends once, and then `records` more are sent."""

    users: int = 10_000
    record_bytes: int = 120
    partitions: int = 4
    symbols: int = len(ALPHABET)
    skew: Skew = "uniform"
    records: int = 400_000

    @property
    def alphabet(self) -> list[str]:
        """Names of a length."""
        if self.symbols == len(ALPHABET):
            return ALPHABET
        return [f"place-{number:05d}" for number in range(self.symbols)]

    @property
    def model(self) -> dict[str, object]:
        """A model file's content: symbols stay, or move on."""
        if self.symbols <= DENSE:
            return model_document(self.alphabet)
        names = self.alphabet
        rows = [
            {"from": name, "to": {name: STAYS, follower: 0.15}, "uniform": 0.05}
            for name, follower in zip(names, [*names[1:], names[0]], strict=True)
        ]
        return {
            "format": "fugu-markov-model",
            "format_version": 2,
            "alphabet": names,
            "prior": "uniform",
            "transition": rows,
            "smoothing": 0.001,
        }

    def sent(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Partition, key and value of every record."""
        random, names = Random(_SEED), self.alphabet
        now = [random.randrange(self.symbols) for _ in range(self.users)]
        padding = "x" * max(0, self.record_bytes - len(_value(names[0], 100, "")))
        for user in [*range(self.users), *self._senders().tolist()]:
            if random.random() > STAYS:
                now[user] = random.randrange(self.symbols)
            value = _value(names[now[user]], random.randrange(50, 190), padding)
            yield user % self.partitions, key_of(user), value

    def _senders(self) -> Integers:
        random = np.random.default_rng(_SEED)
        if self.skew == "Zipf(1.2)":
            weights = np.arange(1, self.users + 1) ** -ZIPF
            return random.choice(self.users, self.records, p=weights / weights.sum())
        senders = random.integers(self.users, size=self.records)
        if self.skew == "half under one key":
            senders[random.random(self.records) < 0.5] = 0
        return senders


AXES: dict[str, tuple[str, list[Case]]] = {
    "users": (
        "users",
        [Case(users=users) for users in (1_000, 10_000, 100_000, 1_000_000)],
    ),
    "record_bytes": (
        "bytes per record",
        [
            Case(record_bytes=size, records=400_000 if size < 1_000 else 100_000)
            for size in (100, 300, 1_000, 3_000, 10_000)
        ],
    ),
    "partitions": ("partitions", [Case(partitions=count) for count in (1, 2, 4, 8, 16)]),
    "symbols": (
        "symbols",
        [
            Case(symbols=4),
            Case(),
            Case(symbols=100, records=100_000),
            Case(symbols=1_000, users=1_000, records=100_000),
            Case(symbols=10_000, users=1_000, records=60_000),
        ],
    ),
    "skew": (
        "keys",
        [Case(), Case(skew="Zipf(1.2)"), Case(skew="half under one key")],
    ),
}
"""The name of what is varied, what a reader calls it, and the cases."""


def quick(case: Case) -> Case:
    """The same with few users and records."""
    return replace(case, users=min(case.users, 10_000), records=min(case.records, 40_000))


def _value(zone: str, bpm: int, padding: str) -> bytes:
    return orjson.dumps({"zone": zone, "bpm": bpm, "note": padding})


# `fugu run` over each case, a restart with much state, and the bytes that operators keep.


RESTART_RECORDS = 100
_QUIET_SECONDS = 2.5


@dataclass(frozen=True)
class Settings:
    """The options of a run, and the load of the machine before it (average of a minute)."""

    command: str
    rounds: int
    quick: bool
    load_before: float


@dataclass(frozen=True)
class Cost:
    """One run: from the first look after everybody sent once, to the last record."""

    cpu_microseconds: float
    records_per_second: float


@dataclass(frozen=True)
class Restart:
    """A start with the state of so many users, until the first new release is there."""

    users: int
    seconds: float
    state_bytes_per_user: float
    peak_mebibytes: float


@dataclass
class Results:
    """Costs by axis and case, over the rounds; `state_bytes` per user and operator."""

    settings: Settings
    costs: dict[str, list[tuple[Case, list[Cost]]]] = field(default_factory=dict)
    restart: Restart | None = None
    state_bytes: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Scaling:
    """Measure Fugu with these topics, in this folder, by this Python."""

    topics: Topics
    folder: Path
    python: Path

    def measure(self, settings: Settings, say: Callable[[str], None]) -> Results:
        """Everything, axis by axis; the cases of an axis take turns."""
        results = Results(settings)
        for axis, (called, cases) in AXES.items():
            chosen = [quick(case) if settings.quick else case for case in cases]
            costs: list[tuple[Case, list[Cost]]] = [(case, []) for case in chosen]
            topics = []
            for case in chosen:
                say(f"{called}: writing a source")
                topics.append(self._filled(case))
            for number in range(1, settings.rounds + 1):
                for (case, measured), topic in zip(costs, topics, strict=True):
                    say(f"{called}, {getattr(case, axis)}: round {number} of {settings.rounds}")
                    try:
                        measured.append(self._cost(case, topic))
                    except ChildFailed as failure:
                        results.failed[f"{called}, {getattr(case, axis)}"] = _last_line(failure)
            for topic in topics:
                self.topics.remove(topic)
            results.costs[axis] = [(case, measured) for case, measured in costs if measured]
        say("restart with much state")
        results.restart = self._restart(Case(users=50_000 if settings.quick else 1_000_000))
        users = 5_000 if settings.quick else 100_000
        for contestant in (FUGU, *OPERATORS):
            assert isinstance(contestant, Fugu)
            kind = str(contestant.operator["kind"])
            say(f"state of {kind}")
            try:
                results.state_bytes[kind] = self._state_bytes(contestant, users)
            except ChildFailed as failure:
                results.failed[f"state of {kind}"] = _last_line(failure)
        return results

    def _cost(self, case: Case, source: str) -> Cost:
        with self._place(case, source) as (place, published), self._fugu(case, place) as watched:
            first = watched.wait_for(lambda now: now >= case.users, published)
            began, before = time.perf_counter(), watched.cost()
            end = case.users + case.records
            watched.wait_for(lambda now: now >= end, published)
            took, after = time.perf_counter() - began, watched.cost()
            watched.stop()
        records = end - first
        if records < case.records / 4:
            raise ChildFailed(f"{case}: all came out between two looks; send more records")
        cpu = (after.cpu_seconds - before.cpu_seconds) / records * 1e6
        return Cost(cpu, records / took)

    def _restart(self, case: Case) -> Restart:
        source = self._filled(Case(users=case.users, records=0))
        with self._place(case, source) as (place, published):
            with self._fugu(case, place) as watched:
                watched.wait_for(lambda now: now >= case.users, published)
                watched.stop()
            kept = _bytes_below(place.folder / "state")
            self._send_more(case, source)
            began = time.perf_counter()
            with self._fugu(case, place) as watched:
                watched.wait_for(lambda now: now > case.users, published)
                took, peak = time.perf_counter() - began, watched.cost().peak_mebibytes
                watched.stop()
        self.topics.remove(source)
        return Restart(case.users, took, kept / case.users, peak)

    def _state_bytes(self, contestant: Fugu, users: int) -> float:
        """After a dozen records of everybody: more than what any of them holds back at first."""
        case = Case(users=users, records=users * 12)
        source = self._filled(case, TICK_MILLISECONDS if contestant.in_ticks else 0)
        try:
            with (
                self._place(case, source) as (place, published),
                self._fugu(case, place, contestant) as watched,
            ):
                self._wait_until_quiet(watched, published)
                watched.stop()
                return _bytes_below(place.folder / "state") / users
        finally:
            self.topics.remove(source)

    def _wait_until_quiet(self, watched: Watched, published: Callable[[], int]) -> None:
        """Until something came, and then nothing more for some seconds.

        Not all operators have as many outputs as records, but all have some.
        """
        watched.wait_for(lambda now: now > 0, published)
        before = 0
        while (now := published()) > before:
            before = now
            time.sleep(_QUIET_SECONDS)

    def _filled(self, case: Case, tick: int = 0) -> str:
        """A tick of so many milliseconds passes whenever there is a record for every user."""
        topic = self.topics.make("scaling", case.partitions)
        began = int(time.time() * 1_000) - tick * (1 + case.records // case.users)
        with Writing(self.topics.bootstrap) as writing:
            for number, (partition, key, value) in enumerate(case.sent()):
                writing.send(topic, partition, key, value, began + number // case.users * tick)
        return topic

    def _send_more(self, case: Case, source: str) -> None:
        with Writing(self.topics.bootstrap) as writing:
            for _, (partition, key, value) in zip(
                range(RESTART_RECORDS), case.sent(), strict=False
            ):
                writing.send(source, partition, key, value)

    @contextmanager
    def _place(self, case: Case, source: str) -> Iterator[tuple[Place, Callable[[], int]]]:
        with (
            self.topics.sink(case.partitions) as sink,
            self.topics.counted(sink, case.partitions) as published,
            TemporaryDirectory(prefix="scaling-", dir=self.folder) as name,
        ):
            folder = Path(name)
            model = folder / "given.json"
            model.write_bytes(orjson.dumps(case.model))
            yield Place(self.topics.bootstrap, source, sink, model, folder), published

    def _fugu(self, case: Case, place: Place, contestant: Fugu = FUGU) -> Watched:
        operator: Mapping[str, object] = contestant.operator
        if "alphabet" in operator:
            operator = {**operator, "alphabet": {"file": "model.json"}}
        state = {"max_keys": case.users, "max_megabytes": 16_384}
        command = contestant.with_sections(operator=operator, state=state).command(
            self.python, place
        )
        return Watched(command, {"TMPDIR": str(place.folder)}, place.folder / "log")


def _last_line(failure: ChildFailed) -> str:
    return str(failure).strip().splitlines()[-1]


def _bytes_below(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
