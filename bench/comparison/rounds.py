"""All contestants in turn, round after round: a machine that slows down slows all of them.

Each round begins with another one, so that nobody is always measured when the machine has rested.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench.comparison.contestants import Contestant
from bench.comparison.data import fill, fill_ticks, stream_of
from bench.comparison.environments import NotInstalled, environment, versions
from bench.comparison.law_check import Checked
from bench.comparison.measuring import Bench, Latency, Source, Speed

_PARTS_OF_LOAD = 2
_SAID = 250
_NOT_INSTALLED = "not installed: "


@dataclass(frozen=True)
class Settings:
    """Hold what was asked for, and how busy the machine was already (load average of a minute)."""

    command: str
    records: int
    users: int
    partitions: int
    rounds: int
    seconds: float
    load_before: float


@dataclass
class Result:
    """Hold what one contestant did; `failed` says in one line why there is nothing, or no more."""

    contestant: Contestant
    speeds: list[Speed] = field(default_factory=list)
    latency: Latency | None = None
    checked: Checked | None = None
    versions: dict[str, str] = field(default_factory=dict)
    failed: str = ""

    def middle(self, figure: str) -> float:
        """The median over rounds."""
        return float(median(getattr(one, figure) for one in self.speeds))

    def ends(self, figure: str) -> tuple[float, float]:
        """The smallest and the largest of all rounds."""
        values = [getattr(one, figure) for one in self.speeds]
        return min(values), max(values)


@dataclass(frozen=True)
class Results:
    """Everything."""

    settings: Settings
    results: list[Result]

    @property
    def failures(self) -> list[str]:
        """Return who failed although it is installed."""
        return [
            f"{one.contestant.name}: {one.failed}"
            for one in self.results
            if one.failed and not one.failed.startswith(_NOT_INSTALLED)
        ]


def measure_all(
    bench: Bench,
    contestants: Sequence[Contestant],
    settings: Settings,
    say: Callable[[str], None],
) -> Results:
    """Environments first, then the sources, the rounds, and latency at half load."""
    results = [Result(contestant) for contestant in contestants]
    pythons = {one.contestant.name: _prepared(one, say) for one in results}
    runs = [one for one in results if not one.failed]
    say("writing the sources")
    full = _full(bench, settings)
    ticks = _ticks(bench, settings) if any(one.contestant.in_ticks for one in runs) else None
    for number in range(1, settings.rounds + 1):
        first = (number - 1) * len(runs) // settings.rounds
        for one in (*runs[first:], *runs[:first]):
            if one.failed:
                continue
            say(f"round {number} of {settings.rounds}: {one.contestant.title}")
            source = ticks if one.contestant.in_ticks and ticks else full
            python = pythons[one.contestant.name]
            with _noted(one):
                speed, checked = bench.speed(
                    one.contestant, python, source, check=one.checked is None
                )
                one.speeds.append(speed)
                one.checked = one.checked or checked
    for one in runs:
        if one.failed or not one.contestant.with_latency:
            continue
        rate = one.middle("records_per_second") / _PARTS_OF_LOAD
        say(f"latency at {rate:,.0f} records/s: {one.contestant.title}")
        with _noted(one):
            one.latency = bench.latency(one.contestant, pythons[one.contestant.name], rate)
    return Results(settings, results)


class _noted:  # noqa: N801
    """A failure, whatever it is, ends one contestant, and not the others; the table says it."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, Exception):
            return False
        lines = [line for line in str(error).splitlines() if line.strip()] or [""]
        said = f"{lines[0]} {lines[-1] if len(lines) > 1 else ''}".strip()[:_SAID]
        self._result.failed = f"{type(error).__name__}: {said}"
        return True


def _prepared(result: Result, say: Callable[[str], None]) -> Path:
    name = result.contestant.environment
    try:
        python = environment(name, say)
    except NotInstalled as reason:
        result.failed = f"{_NOT_INSTALLED}{reason}"
        return Path()
    result.versions = versions(name, python)
    return python


def _full(bench: Bench, settings: Settings) -> Source:
    topic = bench.topics.make("source", settings.partitions)
    stream = stream_of(settings.users, settings.partitions)
    return Source(
        topic,
        settings.records,
        fill(bench.topics.bootstrap, topic, stream, settings.records),
    )


def _ticks(bench: Bench, settings: Settings) -> Source:
    topic = bench.topics.make("ticks", settings.partitions)
    stream = stream_of(settings.users, settings.partitions)
    fill_ticks(bench.topics.bootstrap, topic, stream, settings.records)
    return Source(topic, settings.records, [])
