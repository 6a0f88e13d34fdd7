"""Releases of examples of kinds, as a consumer of their topic gets them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from fugu.dataflows.kinds import AggregateOperator
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.publishing.promise import Promise, promise_of
from fugu.operators.ldp_ids.collector import Collector
from fugu.operators.mechanism import Inputs, Integers, Kind, Mechanism, Releases
from fugu.operators.randomness import DrawScope, Secret, record_positions
from tests.operators.ldp_ids.rounds import rounds
from tests.operators.noise.simulated import SimulatedDraws

BEGIN = 1_700_000_000_000
MINUTE = 60_000


@dataclass
class Record:
    """A record as kafka-python's consumer yields it."""

    key: bytes | None
    value: bytes
    timestamp: int
    partition: int
    offset: int
    headers: list[tuple[str, bytes]] = field(default_factory=list)


def sanitized(
    file: PipelineFile, truth: Integers, *, seed: int = 0, keyed: bool = True
) -> tuple[list[Record], Promise]:
    """Release `truth (users, records)`, one record of each user a minute, in one partition."""
    configured = configure(file)
    mechanism, promise = configured.mechanism, promise_of(file, configured.mechanism, "id")
    users, each = truth.shape
    law = mechanism.law_digest()
    scope = DrawScope(Secret(bytes(32)).derive(seed), "test", mechanism.kind, 1, law)
    keys = [b"user-%d" % user for user in range(users)]
    state, records = mechanism.start(users), list[Record]()
    for step in range(each):
        draws = scope.draws(keys, record_positions("source", 0, [step] * users))
        state, releases = mechanism.step(state, Inputs(truth[:, step]), draws)
        shown, there = published(releases)
        for place, value in zip(there, configured.codec.encode(shown), strict=True):
            offset = step * users + place
            headers = [
                ("fugu-release", b"%032x" % offset),
                ("fugu-guarantee", promise.guarantee_id.encode()),
            ]
            key = keys[place] if keyed else None
            records.append(Record(key, value, BEGIN + step * MINUTE, 0, offset, headers))
    return records, promise


def published(releases: Releases) -> tuple[Releases, Sequence[int]]:
    """Leave out what is suppressed."""
    count = len(releases.values)
    kinds = np.zeros(count, dtype=np.int64) if releases.kinds is None else releases.kinds
    there = np.flatnonzero(kinds != Kind.SUPPRESSED)
    notes = {name: column[there] for name, column in releases.annotations.items()}
    shown = None if releases.kinds is None else kinds[there]
    return Releases(releases.values[there], notes, shown), there.tolist()


def walks(symbols: int, users: int, each: int, seed: int, stay: float = 0.0) -> Integers:
    """Truth that stays with this probability, and is anything else with equal chances."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, symbols, (users, each))
    for step in range(1, each):
        stays = rng.random(users) < stay
        truth[stays, step] = truth[stays, step - 1]
    return truth


def sanitized_figures(
    file: PipelineFile, truth: Integers, *, seed: int = 0, begin: int = BEGIN
) -> tuple[list[Record], Promise]:
    """Release true figures `(groups, ticks)` of an aggregate, tick by tick from `begin` on."""
    [records], promise = sanitized_runs(file, truth[None], seed=seed, begin=begin)
    return records, promise


def sanitized_runs(
    file: PipelineFile, truth: Integers, *, seed: int = 0, begin: int = BEGIN
) -> tuple[list[list[Record]], Promise]:
    """Release figures `(runs, groups, ticks)`, each run with noise of its own.

    What private reports count are `(runs, users, ticks)`, the group of each user.
    """
    section, mechanism = file.pipeline.operator, configure(file).mechanism
    assert isinstance(section, AggregateOperator)
    promise, width = promise_of(file, mechanism, "id"), section.in_ticks().width
    written, groups = section.figures(), section.group_count
    runs: list[list[Record]] = [[] for _ in truth]
    if isinstance(mechanism, Collector):
        made = _counted(mechanism, truth, seed)
    else:
        made = _released(mechanism, truth, seed, begin // width)
    for run, tick, releases in made:
        start = begin + tick * width
        notes = {name: column[0].tolist() for name, column in releases.annotations.items()}
        for group, value in enumerate(written.write(start, releases.values[0], notes)):
            offset = tick * groups + group
            headers = [
                ("fugu-release", b"%032x" % offset),
                ("fugu-guarantee", promise.guarantee_id.encode()),
            ]
            runs[run].append(Record(b"%d" % group, value, start, 0, offset, headers))
    return runs, promise


def _released(
    mechanism: Mechanism, truth: Integers, seed: int, first: int
) -> Iterator[tuple[int, int, Releases]]:
    """Yield the release of each run and tick; all runs are released together."""
    law = mechanism.law_digest()
    scope = DrawScope(Secret(bytes(32)).derive(seed), "test", mechanism.kind, 1, law)
    runs, elapse = len(truth), getattr(mechanism, "elapse", None)
    state, keys = mechanism.start(runs), [b"run-%d" % run for run in range(runs)]
    for tick in range(truth.shape[2]):
        draws = scope.draws(keys, record_positions("source", 0, [tick] * runs))
        if elapse is not None:
            state = elapse(state, np.full(runs, first + tick))
        state, releases = mechanism.step(state, Inputs(truth[:, :, tick]), draws)
        shown, there = published(releases)
        for place, run in enumerate(there):
            own = slice(place, place + 1)
            notes = {name: column[own] for name, column in shown.annotations.items()}
            yield run, tick, Releases(shown.values[own], notes)


def _counted(
    collector: Collector, truth: Integers, seed: int
) -> Iterator[tuple[int, int, Releases]]:
    """Yield what a collector makes of reports, run by run."""
    for run, groups in enumerate(truth):
        draws = SimulatedDraws(np.random.default_rng([seed, run]))
        for one in rounds(collector, groups.T, draws):
            yield run, one.tick, one.releases
