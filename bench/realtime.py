"""Real-time release: steps of many streams, as groups of one vector and as rows of one bin.

Beside them records of as many streams are decoded and encoded, which is what passing them through
takes, and their values are copied, which is the least that numpy does with them.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median

import numpy as np

from bench.grid import Grid, figures
from bench.page import Page
from bench.stream import key_of
from bench.watched import Stopwatch
from fugu.dataflows.base.batches import Batch
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.numbers import Numbers
from fugu.operators.columns import binding_digest, encode_fields
from fugu.operators.mechanism import Inputs, Releases, Words
from fugu.operators.randomness import DrawScope, KeyedDraws, Secret, tick_position
from fugu.operators.realtime import filter as filtering
from fugu.operators.realtime.measurement import Measurement
from fugu.operators.realtime.real_time_release import RealTimeRelease

SHAPES = ((1, 1), (1, 1_000), (1, 100_000), (1_000, 1), (100_000, 1))
"""Rows, and bins of each."""
ROUNDS = 5

PASS_THROUGH = "pass-through"
COPY = "copy"
STEP = "step"
WORDS = "words"
BINDING = "binding"
NOISE = "noise"
FILTER = "filter"
REST = "annotations"
PARTS = (WORDS, BINDING, NOISE, FILTER, REST)

_STREAMS_OF_A_ROUND = 50_000
_MOST_STEPS = 200
_WARM_STEPS = 5
_LARGEST_VALUE = 1_000_000
_BOUND_TO = encode_fields(1, 1, 1, 14)
"""As much as a draw is bound to beside the values."""
_SEED = 1


@dataclass(frozen=True)
class Advanced:
    """CPU microseconds of a step by part, and bytes of the state."""

    rows: int
    bins: int
    microseconds: dict[str, float]
    state_bytes: int

    @property
    def streams(self) -> int:
        """Return whose next value a step releases."""
        return self.rows * self.bins

    def of_a_stream(self, part: str) -> float:
        """Microseconds."""
        return self.microseconds[part] / self.streams


@dataclass(frozen=True)
class TimedDraws(KeyedDraws):
    """Draws that count what they take."""

    watch: Stopwatch = field(kw_only=True)

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        """The same words."""
        with self.watch.on(WORDS):
            return super().words(purpose, binding, coordinates=coordinates, count=count)


class Series:
    """Series that wander about, and a batch of records with their values."""

    def __init__(self, rows: int, bins: int) -> None:
        self._release = RealTimeRelease(
            bins=bins,
            sensitivity=1,
            changed_bins=min(2, bins),
            epsilon=5.0,
            delta=1e-6,
            period=1_000,
        )
        law = self._release.law_digest()
        self._scope = DrawScope(Secret(bytes(32)), "bench", self._release.kind, 1, law)
        self._keys = [key_of(row) for row in range(rows)]
        self._random = np.random.default_rng(_SEED)
        self._values = self._random.integers(500, 1_500, size=(rows, bins))
        self._codec = Codec(Numbers("count", units_per_one=1), _LARGEST_VALUE)
        self._batch = _batch(self._values.size)
        self._state = self._release.start(rows)
        self._tick = 0
        for _ in range(_WARM_STEPS):
            self._step(Stopwatch())

    def measured(self) -> Advanced:
        """One round, in which large steps are few."""
        steps = max(1, min(_MOST_STEPS, _STREAMS_OF_A_ROUND // self._values.size))
        seconds: defaultdict[str, float] = defaultdict(float)
        for _ in range(steps):
            for part, spent in self._parts().items():
                seconds[part] += spent
        state_bytes = sum(column.nbytes for column in self._state.values())
        each = {part: spent / steps * 1e6 for part, spent in seconds.items()}
        rows, bins = self._values.shape
        return Advanced(rows, bins, each, state_bytes)

    def _parts(self) -> dict[str, float]:
        """CPU seconds of a step, and of its parts; they are the same work again."""
        watch, again = Stopwatch(), Stopwatch()
        with watch.on(PASS_THROUGH):
            self._codec.encode(Releases(self._codec.decode(self._batch).values))
        with watch.on(COPY):
            self._values.astype(np.float64)
        columns = {name: self._state[name] for name in filtering.start(0, 0)}
        steps = self._release.schedule.steps(self._state["count"][:, 0])
        measurement = Measurement(self._release.sensitivity)
        with watch.on(BINDING):
            _ = [binding_digest(*vector, _BOUND_TO) for vector in self._values.tolist()]
        draws = self._draws(again)
        with watch.on(NOISE):
            noisy = measurement.noisy(self._values, steps, draws)
        with watch.on(FILTER):
            filtering.advance(columns, noisy, measurement.variance(steps[:, None]))
        self._step(watch)
        seconds = dict(watch.seconds)
        seconds[NOISE] -= again.seconds[WORDS] + seconds[BINDING]
        seconds[REST] = seconds[STEP] - sum(seconds[part] for part in PARTS if part != REST)
        return seconds

    def _step(self, watch: Stopwatch) -> None:
        draws = self._draws(watch)
        with watch.on(STEP):
            self._state, _ = self._release.step(self._state, Inputs(self._values), draws)
        self._values = self._values + self._random.integers(-2, 3, size=self._values.shape)
        self._tick += 1

    def _draws(self, watch: Stopwatch) -> TimedDraws:
        position = tick_position("bench", self._tick)
        draws = self._scope.draws(self._keys, [position] * len(self._keys))
        return TimedDraws(draws.prefix, draws.stream_keys, draws.positions, watch=watch)


def measure_realtime(say: Callable[[str], None]) -> list[Advanced]:
    """Medians of rounds in which every shape has its turn."""
    series = []
    for rows, bins in SHAPES:
        say(f"{rows:,} rows of {bins:,} bins")
        series.append(Series(rows, bins))
    rounds = []
    for number in range(1, ROUNDS + 1):
        say(f"round {number} of {ROUNDS}")
        rounds.append([one.measured() for one in series])
    return [_median(own) for own in zip(*rounds, strict=True)]


def _median(rounds: Sequence[Advanced]) -> Advanced:
    any_one = rounds[0]
    microseconds = {
        part: median(one.microseconds[part] for one in rounds) for part in any_one.microseconds
    }
    return Advanced(any_one.rows, any_one.bins, microseconds, any_one.state_bytes)


def _batch(records: int) -> Batch:
    """A record of about 80 bytes for each stream."""
    values: list[bytes | None] = [
        b'{"count":%d,"zone":"zone-%06d","note":"%s"}' % (500 + number % 1_000, number, b"-" * 40)
        for number in range(records)
    ]
    return Batch(
        0,
        list(range(records)),
        [0] * records,
        [key_of(number) for number in range(records)],
        values,
        [[] for _ in range(records)],
    )


# The figures of real-time release as tables.


def realtime_page(measured: Sequence[Advanced], command: str, load_before: float) -> Page:
    """Return what is written and shown."""
    return Page(
        "realtime",
        "Real-time release",
        command,
        load_before,
        {
            "command": command,
            "load_before": load_before,
            "rounds": ROUNDS,
            "steps": [asdict(one) for one in measured],
        },
        [_speeds(measured), _parts(measured)],
        [
            "A step releases the next value of every stream: of the bins of one row, which are the "
            "groups of an aggregate, or of rows with one bin each. One process, no Kafka, CPU "
            f"time, median of {ROUNDS} rounds in turns. Pass-through decodes and encodes a record "
            "of 80 bytes for each stream; copy is numpy's, of the values alone.",
            "Words are keyed hashes, one of two words for each stream; binding is another hash for "
            "each row, of all that its noise is bound to; noise is drawing from the table, and the "
            "grid; annotations are all that is left: budgets, errors, and copies of columns. "
            "Binding, noise and filter are done once more to be measured, so that what is left is "
            "a difference, and may be below zero.",
        ],
    )


def _speeds(measured: Sequence[Advanced]) -> Grid:
    rows = [
        [
            _shape(one),
            *figures(0, 1e6 / one.of_a_stream(STEP), 1e6 / one.of_a_stream(PASS_THROUGH)),
            *figures(2, one.of_a_stream(PASS_THROUGH) / one.of_a_stream(STEP)),
            *figures(0, one.microseconds[STEP] / one.microseconds[COPY]),
            *figures(0, one.state_bytes / one.streams),
        ]
        for one in measured
    ]
    return Grid(
        "Streams that are advanced in a second, and bytes of state of each",
        ["rows x bins", "streams/s", "pass-through", "ratio", "time / copy", "state"],
        rows,
    )


def _parts(measured: Sequence[Advanced]) -> Grid:
    rows = []
    for one in measured:
        shares = (one.microseconds[part] / one.microseconds[STEP] for part in PARTS)
        rows.append(
            [
                _shape(one),
                *figures(3, one.of_a_stream(STEP), *(one.of_a_stream(part) for part in PARTS)),
                *(f"{share:.0%}" for share in shares),
            ]
        )
    return Grid(
        "CPU µs of a stream by part, and shares of a step",
        ["rows x bins", "step", *PARTS, *(f"{part}, share" for part in PARTS)],
        rows,
    )


def _shape(one: Advanced) -> str:
    return f"{one.rows:,} x {one.bins:,}"
