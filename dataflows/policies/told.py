"""Read back from Kafka which changes of policies were written, and which ones figures knew."""

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property

import orjson

from fugu.dataflows.base.errors import FuguError, KafkaUnavailable
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.policies.change import UnusableChange, change
from fugu.dataflows.policies.document import PolicyDocument
from fugu.operators.swellfish.change import Change
from fugu.operators.swellfish.history import Known, Unexplained, Written, explained


@dataclass(frozen=True)
class WrittenChange:
    """Hold a record of the topic of changes: the change, or why it is none."""

    offset: int
    timestamp: int
    change: Change | None
    refused: str = ""


@dataclass(frozen=True)
class Figure:
    """Hold which tick a figure is of, and the digest of the policies it was made with."""

    offset: int
    tick: int
    digest: bytes


@dataclass(frozen=True)
class Told:
    """Hold all records of the topic of changes, and the figures of the sanitized topic."""

    document: PolicyDocument
    written: tuple[WrittenChange, ...]
    figures: tuple[Figure, ...]
    without_digest: int = 0
    """So many figures are of a version of Fugu that wrote none."""

    @property
    def changes(self) -> list[WrittenChange]:
        """Return the records that are changes."""
        return [one for one in self.written if one.change is not None]

    @cached_property
    def known(self) -> tuple[Known, ...]:
        """Return what figures knew, whenever that changed, up to the first unexplained one."""
        return self._explained[0]

    @cached_property
    def unexplained(self) -> Figure | None:
        """Return the first figure that was made with other policies than the topics say, if any."""
        tick = self._explained[1]
        return next((one for one in self.figures if one.tick == tick), None)

    def known_at(self, tick: int) -> Known | None:
        """Return what a figure of this tick knows; None before the first one."""
        later = bisect_right(self.known, tick, key=lambda one: one.tick)
        return self.known[later - 1] if later else None

    @cached_property
    def _explained(self) -> tuple[tuple[Known, ...], int | None]:
        written = [Written(one.change.to_bytes()) for one in self.changes if one.change is not None]
        figures = ((one.tick, one.digest) for one in self.figures)
        known = list[Known]()
        try:
            for one in explained(self.document.policies, written, figures):
                known.append(one)
        except Unexplained as error:
            return tuple(known), error.tick
        return tuple(known), None

    @property
    def following(self) -> int | None:
        """Return the tick after the last figure, if there is one."""
        return self.figures[-1].tick + 1 if self.figures else None


def told(client: Client, document: PolicyDocument, changes: str | None, figures: str) -> Told:
    """Read both topics to their ends; a sanitized topic that is not there has no figures."""
    written = [] if changes is None else list(_written(client, document, changes))
    found, without = list[Figure](), 0
    for figure in _figures(client, document, figures):
        if not figure.digest:
            without += 1
        elif not found or figure.tick > found[-1].tick:
            found.append(figure)
    return Told(document, tuple(written), tuple(found), without)


def _written(client: Client, document: PolicyDocument, name: str) -> Iterator[WrittenChange]:
    if client.topic(name) is None:
        raise KafkaUnavailable(f"topic {name} (source.policies) does not exist; create it")
    for offset, timestamp, key, value in _records(client, name):
        try:
            found = change(key, value, document)
        except UnusableChange as error:
            yield WrittenChange(offset, timestamp, None, str(error))
        else:
            yield WrittenChange(offset, timestamp, found)


def _figures(client: Client, document: PolicyDocument, name: str) -> Iterator[Figure]:
    if client.topic(name) is None:
        return
    for offset, _, _, value in _records(client, name):
        try:
            figure = orjson.loads(value or b"")
            tick = figure["start"] // document.policies.tick_milliseconds
            yield Figure(offset, tick, bytes.fromhex(figure.get("policies", "")))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise FuguError(
                f"topic {name}, partition 0, offset {offset}: is no figure under policies; name "
                "the topic that the pipeline publishes to"
            ) from None


def _records(client: Client, name: str) -> Iterator[tuple[int, int, bytes | None, bytes | None]]:
    """Yield offset, timestamp, key and value of all records of partition 0."""
    with closing(client.reader(name)) as reader:
        bounds = reader.bounds([0])[0]
        for batch in reader.read_range(0, bounds.start, bounds.end):
            for offset, timestamp, key, value, _ in batch.records():
                yield offset, timestamp, key, value
