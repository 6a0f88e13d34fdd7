"""Write releases as a schema registry has them: the id of a schema, and what is behind it."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.kafka.schema_registry import SchemaRegistry
from fugu.dataflows.pipeline.mechanisms import schema_of_releases
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.records.json_columns import joined
from fugu.dataflows.records.registered import subject_of
from fugu.dataflows.records.release_schema import ReleaseSchema
from fugu.dataflows.records.schema_ids import prefix_of, schema_id
from fugu.dataflows.records.values import Values
from fugu.operators.byte_column import ByteColumn

_LOOKED_BACK = 100
"""Marks of transactions stand behind the last release."""


@dataclass(frozen=True)
class ReleaseForm:
    """Write releases by a schema of a subject, which is registered before the first of them."""

    schema: ReleaseSchema
    topic: str
    schemas: SchemaRegistry

    @property
    def subject(self) -> str:
        """Return the subject of the schema."""
        return subject_of(self.topic)

    @cached_property
    def number(self) -> int:
        """Register the schema, and return its id; a registry has the same id for the same text."""
        return self.schemas.register(self.subject, self.schema.text)

    @cached_property
    def _write(self) -> Callable[[bytes], bytes] | None:
        return self.schema.writer()

    def written(self, releases: Sequence[bytes]) -> Sequence[bytes]:
        """Return releases in JSON as they are published."""
        prefix, write = prefix_of(self.number), self._write
        if write is None:
            return joined(len(releases), prefix, ByteColumn.of(releases))
        return [prefix + write(release) for release in releases]

    def require_own(self, client: Client, sink: Topic) -> None:
        """Raise `StartRefused` where readers could not read what is in the sink, and what comes."""
        for partition, content in _last_ones(client, sink).items():
            where, found = f"topic {sink.name}, partition {partition}", schema_id(content)
            if found is None:
                raise StartRefused(
                    f"{where}: the last release was written without a schema. Leave sink.format "
                    "out, or write another sink.topic, in a new pipeline"
                )
            if found != self.number and not self.schemas.has(self.subject, found):
                raise StartRefused(
                    f"{where}: the last release was written by schema {found}, which the registry "
                    f"at {self.schemas.url} does not have for {self.subject} (it has "
                    f"{self.number} for what is written now). Readers need both, and a replay "
                    "writes the same bytes. Restore the registry with its ids"
                )


def _last_ones(client: Client, topic: Topic) -> dict[int, bytes]:
    """Return the last value of each partition that has one."""
    found: dict[int, bytes] = {}
    with closing(client.reader(topic.name)) as reader:
        for partition, bounds in reader.bounds(list(range(topic.partitions))).items():
            begin = max(bounds.start, bounds.end - _LOOKED_BACK)
            for batch in reader.read_range(partition, begin, bounds.end):
                for value in batch.values:
                    if value is not None:
                        found[partition] = bytes(value)
    return found


def release_form(file: PipelineFile, values: Values) -> ReleaseForm | None:
    """Return how the pipeline file wants releases to be written; None for JSON alone."""
    sink, schema = file.pipeline.sink, schema_of_releases(file.pipeline, values)
    if sink.format is None or schema is None:
        return None
    registry = sink.format.registry
    schemas = SchemaRegistry(registry.url, partial(registry.settings, file.resolve))
    return ReleaseForm(schema, sink.topic, schemas)
