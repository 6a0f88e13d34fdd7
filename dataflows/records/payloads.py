"""Read any JSON value as an opaque payload; write it in an envelope that says when it left.

A value goes through as the JSON that it stands for; `lenient_json` tells which others are refused.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import ClassVar, Literal

import numpy as np
import orjson

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.columns import NONE, OptionalByteColumn
from fugu.dataflows.base.field_paths import released_name
from fugu.dataflows.records.json_columns import joined, json_column
from fugu.dataflows.records.json_fields import Record, Refused, required
from fugu.dataflows.records.values import ReleasedAs
from fugu.operators.columns import ByteColumn
from fugu.operators.mechanism import Releases

NullValue = Literal["error", "as_none"]

LARGEST_PAYLOAD_BYTES = 900_000
"""With key, envelope and headers less than what Kafka takes in one message by default."""
_BEFORE_VALUES = ByteColumn.of(
    [
        b',"phase":"%b","empty":%b,"value":%b' % (phase, empty, value)
        for phase in (b"warmup", b"steady", b"cooldown")
        for empty, value in ((b"false", b""), (b"true", b"null"))
    ]
)


class Payloads:
    """Read one field, or several as one object, and write envelopes.

    >>> payloads = Payloads(["bpm"], null="as_none")
    >>> payloads.read({"bpm": 71.5}), payloads.read({"bpm": None})
    (b'71.5', None)
    >>> notes = {name: np.array([value]) for name, value in dict(tick=12, epoch=0, phase=1).items()}
    >>> payloads.write(Releases(np.array([b"71.5"], dtype=object), notes))
    [b'{"tick":12,"epoch":0,"phase":"steady","empty":false,"value":71.5}']
    """

    released_as: ClassVar[ReleasedAs] = "payload"

    dtype = np.dtype(object)

    def __init__(self, fields: Sequence[str], *, null: NullValue) -> None:
        self.fields = tuple(fields)
        self.field = self.fields[0]
        self.null = null

    def read(self, record: Record) -> bytes | None:
        """Return the value as JSON; None where there is none."""
        values = {field: required(record, field) for field in self.fields}
        missing = [field for field, value in values.items() if value is None]
        if missing and (self.null == "error" or len(missing) < len(values)):
            raise Refused(Reason.WRONG_TYPE, missing[0])
        if missing:
            return None
        try:
            payload = orjson.dumps(self._released(values))
        except orjson.JSONEncodeError:  # nested more deeply than orjson writes
            raise Refused(Reason.OUTSIDE_DOMAIN, self.field) from None
        if len(payload) > LARGEST_PAYLOAD_BYTES:  # 1e15 is written with all its digits
            raise Refused(Reason.TOO_LARGE, self.field)
        return payload

    def _released(self, values: Record) -> object:
        """Return the content of the one field, or an object with the names that are released."""
        if len(values) == 1:
            return values[self.field]
        return {released_name(field): value for field, value in values.items()}

    def read_column(self, records: Sequence[Record]) -> Sequence[bytes | None]:
        """Read many records; one field without a null is written without another look."""
        if len(self.fields) == 1:
            column = [record.get(self.field) for record in records]
            with suppress(orjson.JSONEncodeError):
                payloads = [] if None in column else list(map(orjson.dumps, column))
                if payloads and max(map(len, payloads)) <= LARGEST_PAYLOAD_BYTES:
                    return payloads
        return list(map(self.read, records))

    def write(self, releases: Releases) -> Sequence[bytes]:
        """Write one envelope per release."""
        notes, values = releases.annotations, OptionalByteColumn.of(releases.values.tolist())
        ticks, epochs = (json_column(notes[name].tolist()) for name in ("tick", "epoch"))
        empty = values.lengths == NONE
        return joined(
            len(values),
            b'{"tick":',
            ticks,
            b',"epoch":',
            epochs,
            _BEFORE_VALUES.taken(2 * notes["phase"] + empty),
            ByteColumn(values.content, values.begins, np.where(empty, 0, values.lengths)),
            b"}",
        )
