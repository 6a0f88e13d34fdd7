"""Open what records are wrapped in: CloudEvents and changes of Debezium.

Paths of fields begin at the outermost object of an envelope: `data.zone`, `after.zone`. What is
before a change is taken out before anything else looks at a record.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import ClassVar, Protocol

from fugu.dataflows.base.batches import Header, Reason
from fugu.dataflows.base.field_paths import steps_of, text_of
from fugu.dataflows.records.json_fields import Record, Refused, required
from fugu.dataflows.records.lenient_json import parts_of


class Envelope(Protocol):
    """Open records, whose JSON has been read."""

    reads_headers: ClassVar[bool]
    """Say whether headers of a record are looked at."""
    marks: ClassVar[tuple[str, ...]]
    """Fields by which a record is known to have this envelope."""

    def opened(self, parsed: object, headers: Sequence[Header]) -> Record:
        """Return the object in which paths begin; `Refused` if there is nothing to release."""
        ...

    def around(self, parsed: object, headers: Sequence[Header]) -> Record:
        """Return the same, also where there is nothing to release: it has a time all the same."""
        ...

    def is_unavailable(self, value: object) -> bool:
        """Return whether a field holds something in the place of a value that was not sent."""
        ...

    def problem(self, name: str) -> str | None:
        """Return why no record can hold a field, and what to write instead."""
        ...


class CloudEvents:
    """Read CloudEvents 1.0 over Kafka, in structured and in binary mode.

    Both become one object, with the attributes of the event, and its data below `data`.

    >>> structured = {"specversion": "1.0", "id": "e-1", "data": {"zone": "rest"}}
    >>> binary = [("ce_specversion", b"1.0"), ("ce_id", b"e-1")]
    >>> CloudEvents().opened(structured, []) == CloudEvents().opened({"zone": "rest"}, binary)
    True
    """

    reads_headers: ClassVar[bool] = True
    marks: ClassVar[tuple[str, ...]] = ("specversion",)

    def opened(self, parsed: object, headers: Sequence[Header]) -> Record:
        """Return attributes and data of an event."""
        record = self.around(parsed, headers)
        if required(record, "specversion") != _VERSION:
            raise Refused(Reason.OUTSIDE_DOMAIN, "specversion")
        return record

    def around(self, parsed: object, headers: Sequence[Header]) -> Record:
        """Return the same of any version."""
        attributes = _attributes(headers)
        if "specversion" in attributes:
            record: Record = {**attributes, "data": parsed}
        elif isinstance(parsed, dict):
            record = parsed
        else:
            raise Refused(Reason.WRONG_TYPE)
        return record

    def is_unavailable(self, value: object) -> bool:
        """Return that events hold what they say."""
        return False

    def problem(self, name: str) -> str | None:
        """Return why an event has no such attribute."""
        first, *rest = steps_of(name)
        if first == "data":
            return None
        if isinstance(first, str) and first.isascii() and first.islower() and first.isalnum():
            return None
        instead = text_of(("data", first, *rest))
        return f"no attribute of a CloudEvent is called {first}; write {instead} if it is in data"


_PREFIX, _VERSION = "ce_", "1.0"


def _attributes(headers: Sequence[Header]) -> dict[str, str]:
    """Return the attributes of an event in binary mode; one that is no text is not there."""
    attributes = {}
    for name, value in headers:
        if name.startswith(_PREFIX) and value is not None:
            with suppress(UnicodeDecodeError):
                attributes[name.removeprefix(_PREFIX)] = value.decode()
    return attributes


class Debezium:
    """Read changes of rows as Debezium writes them, with the schema of Connect or without.

    A row that was inserted, read or updated is below `after`. One that was deleted, or a tombstone
    behind it, has nothing to release. `before` is never read.

    >>> change = {"op": "u", "before": {"zone": "rest"}, "after": {"zone": "light"}}
    >>> Debezium().opened({"schema": {}, "payload": change}, [])
    {'op': 'u', 'after': {'zone': 'light'}}
    """

    reads_headers: ClassVar[bool] = False
    marks: ClassVar[tuple[str, ...]] = ("op",)

    def opened(self, parsed: object, headers: Sequence[Header]) -> Record:
        """Return the change without what was before."""
        change = self.around(parsed, headers)
        operation = required(change, "op")
        if operation in _WITHOUT_A_ROW:
            raise Refused(Reason.ROW_DELETED)
        if operation not in _WITH_A_ROW:
            raise Refused(Reason.OUTSIDE_DOMAIN, "op")
        if not isinstance(required(change, "after"), dict):
            raise Refused(Reason.WRONG_TYPE, "after")
        return change

    def around(self, parsed: object, headers: Sequence[Header]) -> Record:
        """Return the same of a row that is gone, too."""
        if isinstance(parsed, dict) and "payload" in parsed and "schema" in parsed:
            parsed = parsed["payload"]
        if parsed is None:
            raise Refused(Reason.ROW_DELETED)
        if not isinstance(parsed, dict):
            raise Refused(Reason.WRONG_TYPE)
        return {name: value for name, value in parsed.items() if name in _OPENED}

    def is_unavailable(self, value: object) -> bool:
        """Return whether a field has the placeholder of a column that an update did not touch.

        It is a text, bytes in base64, or a list of the numbers of these bytes. Inside of a list or
        an object it stands for all of it.
        """
        return any(part in _PLACEHOLDERS for part in parts_of(value))

    def problem(self, name: str) -> str | None:
        """Return why a change has no such field."""
        first, *rest = steps_of(name)
        if first in _OPENED:
            return None
        if first == "before":
            return f"what a row was before is not read; write {text_of(('after', *rest))}"
        inner = rest if first == "payload" else [first, *rest]
        path = inner if inner and inner[0] in _OPENED else ["after", *inner]
        return f"a change of Debezium has no {first} that is read; write {text_of(path)}"


_WITH_A_ROW, _WITHOUT_A_ROW = ("c", "r", "u"), ("d", "t", "m")
_OPENED = ("op", "after", "source", "ts_ms", "ts_us", "ts_ns", "transaction")
_PLACEHOLDER = "__debezium_unavailable_value"
_PLACEHOLDERS: Sequence[object] = (
    _PLACEHOLDER,
    b64encode(_PLACEHOLDER.encode()).decode(),
    list(_PLACEHOLDER.encode()),
)

ENVELOPES: Mapping[str, Envelope] = {"cloudevents": CloudEvents(), "debezium": Debezium()}


def problems_of(envelope: Envelope, names: Iterable[str]) -> list[str]:
    """Return why records in an envelope do not hold some of these fields."""
    told = ((name, envelope.problem(name)) for name in names)
    return [f"{name}: {problem}" for name, problem in told if problem is not None]
