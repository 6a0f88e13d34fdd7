"""Take releases out of the schemas that they are written by."""

from importlib.util import find_spec

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from fugu.dataflows.base.errors import CannotBeEstimated
from fugu.dataflows.base.install import install
from fugu.dataflows.publishing.promise import PromisedForm
from fugu.dataflows.records.avro import AvroSchema
from fugu.dataflows.records.json_fields import Refused
from fugu.dataflows.records.protobuf import ProtobufSchema
from fugu.dataflows.records.registered import RecordSchema
from fugu.dataflows.records.schema_ids import PREFIX_BYTES, schema_id

_NEEDED = {"avro": ("fastavro", "registry"), "protobuf": ("grpc_tools", "protobuf")}
"""The package that reads releases of a form, and the extra that brings it."""


def unwrapped(content: pa.ChunkedArray, form: PromisedForm | None) -> pa.ChunkedArray:
    """Return releases as JSON; the promise holds their schema, and no registry is asked."""
    if form is None:
        return content
    if form.kind == "json_schema":
        return pc.binary_replace_slice(content, 0, PREFIX_BYTES, b"")
    schema = _schema_of(form)
    try:
        found = [_as_json(schema, one) for one in content.to_pylist()]
    except Refused:
        raise CannotBeEstimated(
            "a record is not as the schema of its promise says; is the promise that of this topic?"
        ) from None
    return pa.chunked_array([found], content.type)


def _schema_of(form: PromisedForm) -> RecordSchema:
    module, extra = _NEEDED[form.kind]
    if find_spec(module) is None:
        raise ModuleNotFoundError(
            f"reading releases of kind {form.kind} needs {module}: {install(extra)}", name=module
        )
    if form.kind == "protobuf":
        return ProtobufSchema.of(form.schema_text, [], whole=True)
    return AvroSchema.of(orjson.loads(form.schema_text), [])


def _as_json(schema: RecordSchema, content: bytes) -> bytes | None:
    if schema_id(content) is None:
        raise CannotBeEstimated("a record has no id of a schema, and its promise says one")
    return orjson.dumps(schema.read(content[PREFIX_BYTES:]))
