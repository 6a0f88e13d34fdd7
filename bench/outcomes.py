"""Check that every record of a source topic has exactly one outcome, and the right one.

The check reads both output topics: which record a release belongs to shows in its release id, which
only the pipeline itself can compute.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import orjson

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.flows.plan import Plan
from fugu.dataflows.flows.starting import prepared
from fugu.dataflows.kafka.client import Reader
from fugu.dataflows.kafka.source import StopFlag
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.records.published import release_id_of


class WrongOutcomes(RuntimeError):
    """A record has no outcome, a wrong one, or more than one."""


@dataclass(frozen=True)
class Outcomes:
    """Count the outcomes of all records; dead letters by reason."""

    releases: int
    dead_letters: dict[str, int]


def check_outcomes(file: PipelineFile, room: int) -> Outcomes:
    """The outcomes of a pipeline that has stopped.

    In every partition the first `room` records must be released, and all others must be dead
    letters because of too many keys; `WrongOutcomes` otherwise.
    """
    (plan,) = prepared(file, None, StopFlag())
    try:
        fingerprint, client = plan.fingerprint, plan.client
        with (
            closing(client.reader(fingerprint.source_topic)) as source,
            closing(client.reader(fingerprint.sink_topic)) as sink,
            closing(client.reader(fingerprint.dead_letters_topic)) as dead,
        ):
            releases, reasons = 0, Counter[str]()
            for partition, bounds in source.bounds(fingerprint.own_partitions).items():
                released = range(bounds.end)[:room]
                _check_releases(plan, sink, partition, released)
                releases += len(released)
                reasons += _check_dead_letters(dead, partition, range(bounds.end)[room:])
    finally:
        plan.directory.unlock()
    return Outcomes(releases, dict(reasons))


def _check_releases(plan: Plan, sink: Reader, partition: int, expected: range) -> None:
    end = sink.bounds([partition])[partition].end
    found = [
        release_id_of(headers)
        for batch in sink.read_range(partition, 0, end)
        for headers in batch.headers
    ]
    ids = list(plan.publisher.release_ids(partition, expected))
    if found != ids:
        raise WrongOutcomes(
            f"partition {partition}: the sanitized topic holds {len(found)} releases, of which "
            f"{len(set(found) & set(ids))} are those of the first {len(ids)} source records"
        )


def _check_dead_letters(dead: Reader, partition: int, expected: range) -> Counter[str]:
    letters = list(_dead_letters(dead, partition))
    if [offset for offset, _ in letters] != list(expected):
        found = {offset for offset, _ in letters}
        raise WrongOutcomes(
            f"partition {partition}: {len(letters)} dead letters are about {len(found)} source "
            f"records, but {len(expected)} records should have one, of which "
            f"{len(found.intersection(expected))} have"
        )
    reasons = Counter(reason for _, reason in letters)
    if set(reasons) - {Reason.TOO_MANY_KEYS}:
        raise WrongOutcomes(f"partition {partition}: dead letters for other reasons, {reasons}")
    return reasons


def _dead_letters(dead: Reader, partition: int) -> Iterator[tuple[int, str]]:
    """Source offset and reason."""
    end = dead.bounds([partition])[partition].end
    for batch in dead.read_range(partition, 0, end):
        for value in batch.values:
            letter = orjson.loads(value or b"{}")
            yield letter["offset"], letter["reason"]
