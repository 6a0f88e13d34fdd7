"""Releases by a schema are read from the promise alone, as those in JSON are."""

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

import fugu
from fugu.analysis import CannotBeEstimated
from fugu.dataflows.analysis import unwrapping
from fugu.dataflows.pipeline.pipeline_file import PipelineFile
from fugu.dataflows.publishing.promise import Promise, PromisedForm
from fugu.dataflows.records.registered import SchemaKind
from fugu.dataflows.records.release_schema import ReleaseSchema, release_schema
from fugu.dataflows.records.schema_ids import prefix_of
from tests.dataflows.analysis.sanitized import Record, sanitized, walks
from tests.dataflows.kinds.example_files import example_of

EXAMPLES = ["crr", "oue", "lrm", "batched_crr"]


def schema_of(kind: SchemaKind, file: PipelineFile) -> ReleaseSchema:
    pipeline = file.pipeline
    return release_schema(kind, pipeline.operator.values(pipeline.source.fields))


def by_schema(
    schema: ReleaseSchema, records: list[Record], promise: Promise
) -> tuple[list[Record], Promise]:
    """The same releases as a pipeline with `sink.format` writes them, and what it promises."""
    form = PromisedForm(kind=schema.kind, schema_text=schema.text.text)
    sink = promise.sink.model_copy(update={"form": form})
    write = schema.writer() or bytes
    written = [replace(one, value=prefix_of(7) + write(one.value)) for one in records]
    return written, promise.model_copy(update={"sink": sink})


@pytest.mark.parametrize("kind", get_args(SchemaKind))
@pytest.mark.parametrize("example", EXAMPLES)
def test_releases_by_a_schema_are_what_those_in_json_are(
    kind: SchemaKind, example: str, tmp_path: Path
) -> None:
    file = example_of(example, tmp_path)
    records, promise = sanitized(file, walks(4, 5, 6, seed=1))
    written, said = by_schema(schema_of(kind, file), records, promise)
    read, plain = fugu.read(written, promise=said), fugu.read(records, promise=promise)
    assert read.records.equals(plain.records)
    written[3].value = written[3].value[:-1]
    if kind != "json_schema":
        with pytest.raises(CannotBeEstimated, match="is not as the schema of its promise says"):
            fugu.read(written, promise=said)


@pytest.mark.parametrize(("kind", "module"), [("avro", "fastavro"), ("protobuf", "grpc_tools")])
def test_what_reads_a_kind_of_releases_is_named_where_it_is_not_installed(
    kind: SchemaKind, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = example_of("grr", tmp_path)
    written, said = by_schema(schema_of(kind, file), *sanitized(file, walks(4, 2, 1, seed=1)))
    monkeypatch.setattr(unwrapping, "find_spec", {}.get)
    with pytest.raises(ModuleNotFoundError, match=f"{kind} needs {module}: pip install"):
        fugu.read(written, promise=said)
