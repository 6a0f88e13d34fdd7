"""Publish what was released of records that were driven again, each record once.

What an earlier attempt has published is recognised as after any crash of a pipeline: the sinks are
those of its dataflow, and read back what stands behind the place where this began.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from fugu.dataflows.base.errors import KafkaUnavailable, ReleaseMismatch
from fugu.dataflows.flows.plan import offsets_of
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.sink import KafkaSink, KafkaSinkPart, Shared
from fugu.dataflows.kafka.source import part_name
from fugu.dataflows.publishing.ledger_topic import is_stream_of
from fugu.dataflows.records.published import release_id_of
from fugu.dataflows.state.fingerprint import Fingerprint
from fugu.dataflows.state.redrive import Driven, Output, due_records

_AT_ONCE = 50_000
"""Bound what is published and not yet acknowledged, or not committed."""


@dataclass(frozen=True)
class RedrivenSinks:
    """Write the releases of a `folder`, and what they spent, into the topics of a pipeline.

    `wait` raises where another process has taken over.
    """

    client: Client
    fingerprint: Fingerprint
    folder: Path
    driven: Driven
    wait: Callable[[], None]

    def publish(self) -> None:
        """Publish what is not there yet; `ReleaseMismatch` if something else is there."""
        parts: dict[tuple[Output, int], KafkaSinkPart] = {}
        positions: dict[tuple[Output, int], int] = {}
        waiting = 0
        for output, outgoing in due_records(self.folder, self.driven.due):
            at = output, outgoing.partition
            if at not in parts:
                name = part_name(outgoing.partition)
                parts[at] = self._sinks[output].build_part(output, name, None)
            first, count = positions.get(at, 0), len(outgoing.values)
            positions[at] = first + count
            parts[at].write_batch([replace(outgoing, positions=range(first, first + count))])
            waiting += count
            if waiting >= _AT_ONCE:
                _settle(parts.values())
                waiting = 0
        _settle(parts.values())
        for sink in self._sinks.values():
            if not sink.has_caught_up(()):
                raise ReleaseMismatch(
                    f"topic {sink.topic} holds records that are none of this pipeline and were "
                    "written since records began to be driven again. Find out who writes to it; "
                    "everything that was to be published is."
                )

    @cached_property
    def _sinks(self) -> dict[Output, KafkaSink]:
        stored = self.fingerprint
        owner = f"{stored.pipeline}.{stored.sink_topic}.redrive"
        writer = self.client.writer(owner)
        topics: dict[Output, str] = {"sink": stored.sink_topic}
        shared: dict[Output, Shared] = {}
        if stored.ledger_topic:
            topics["ledger"] = stored.ledger_topic
            shared["ledger"] = self._shared(stored)
        return {
            output: KafkaSink(
                self.client,
                writer,
                topic,
                offsets_of(self.driven.begins[output]),
                partial(self._names, output),
                shared=shared.get(output),
                wait=self.wait,
                owner=owner,
            )
            for output, topic in topics.items()
        }

    def _shared(self, stored: Fingerprint) -> Shared:
        ledger = self.client.topic(stored.ledger_topic)
        if ledger is None:
            raise KafkaUnavailable(f"topic {stored.ledger_topic} does not exist. Restore it.")
        return Shared(ledger.partitions, partial(is_stream_of, stored.pipeline))

    def _names(self, output: Output, partition: int, positions: Sequence[int]) -> list[bytes]:
        """Return the names of what is to be published at these places of its order."""
        names = self._all_names[output, partition]
        return [names[position] for position in positions if position < len(names)]

    @cached_property
    def _all_names(self) -> dict[tuple[Output, int], list[bytes]]:
        names: dict[tuple[Output, int], list[bytes]] = {}
        for output, outgoing in due_records(self.folder, self.driven.due):
            own = names.setdefault((output, outgoing.partition), [])
            own += [release_id_of(headers) or b"" for headers in outgoing.headers]
        return names


def _settle(parts: Iterable[KafkaSinkPart]) -> None:
    """Wait until everything is acknowledged, or committed."""
    for part in parts:
        part.snapshot()
