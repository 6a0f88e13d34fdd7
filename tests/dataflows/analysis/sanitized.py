"""Releases of examples of kinds, as a consumer of their topic gets them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fugu.dataflows.kinds import AggregateOperator
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.publishing.promise import Promise, promise_of
from fugu.operators.mechanism import Inputs, Integers, Kind, Releases
from fugu.operators.randomness import DrawScope, record_positions
from fugu.operators.secret import Secret
from fugu.operators.totals.running_total import RunningTotal

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
    file: PipelineFile, truth: Integers, *, seed: int = 0
) -> tuple[list[Record], Promise]:
    """Release true figures `(groups, ticks)` of an aggregate, a tick every 15 minutes."""
    section, mechanism = file.pipeline.operator, configure(file).mechanism
    assert isinstance(section, AggregateOperator)
    promise = promise_of(file, mechanism, "id")
    law = mechanism.law_digest()
    scope = DrawScope(Secret(bytes(32)).derive(seed), "test", mechanism.kind, 1, law)
    state, records = mechanism.start(1), list[Record]()
    for tick in range(truth.shape[1]):
        draws = scope.draws([b"all"], record_positions("source", 0, [tick]))
        if isinstance(mechanism, RunningTotal):
            state = mechanism.elapse(state, np.array([BEGIN // (15 * MINUTE) + tick]))
        state, releases = mechanism.step(state, Inputs(truth[None, :, tick]), draws)
        notes = {name: column[0].tolist() for name, column in releases.annotations.items()}
        start = BEGIN + tick * 15 * MINUTE
        written = section.figures().write(start, releases.values[0], notes)
        for group, value in enumerate(written):
            offset = tick * len(truth) + group
            headers = [
                ("fugu-release", b"%032x" % offset),
                ("fugu-guarantee", promise.guarantee_id.encode()),
            ]
            records.append(Record(b"%d" % group, value, start, 0, offset, headers))
    return records, promise
