"""Take releases out of the schemas that they are written by."""

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from fugu.dataflows.base.errors import CannotBeEstimated
from fugu.dataflows.publishing.promise import PromisedForm
from fugu.dataflows.records.avro import AvroSchema
from fugu.dataflows.records.json_fields import Refused
from fugu.dataflows.records.schema_ids import PREFIX_BYTES, schema_id


def unwrapped(content: pa.ChunkedArray, form: PromisedForm | None) -> pa.ChunkedArray:
    """Return releases as JSON; the promise holds their schema, and no registry is asked."""
    if form is None:
        return content
    if form.kind == "json_schema":
        return pc.binary_slice(content, PREFIX_BYTES)
    schema = AvroSchema.of(orjson.loads(form.schema_text), [])
    try:
        found = [_as_json(schema, one) for one in content.to_pylist()]
    except Refused:
        raise CannotBeEstimated(
            "a record is not as the schema of its promise says; is the promise that of this topic?"
        ) from None
    return pa.chunked_array([found], content.type)


def _as_json(schema: AvroSchema, content: bytes) -> bytes | None:
    if schema_id(content) is None:
        raise CannotBeEstimated("a record has no id of a schema, and its promise says one")
    return orjson.dumps(schema.read(content[PREFIX_BYTES:]))
