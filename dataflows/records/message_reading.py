"""Read messages of one type of Protocol Buffers.

Only fields that are asked for are looked at, unless the whole message is.

Enums are read by name. A Timestamp is the number of milliseconds since 1970. A field that has no
presence, such as a number of proto3, holds its default value where a record does not name it.
"""

from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.field_paths import Step, steps_of, text_of
from fugu.dataflows.records.json_fields import Record, Refused
from fugu.dataflows.records.unusable_schema import UnusableSchema

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
    from google.protobuf.message import Message

_TIMESTAMP = "google.protobuf.Timestamp"

Reading = Callable[[Any], object]


class _Absent(Exception):
    """Report that a path leads to nothing."""


class MessageReader:
    """Read messages of one type."""

    def __init__(self, described: "Descriptor", names: tuple[str, ...], whole: bool) -> None:
        from google.protobuf.message import DecodeError
        from google.protobuf.message_factory import GetMessageClass

        self._parse: Callable[[bytes], Message] = GetMessageClass(described).FromString
        self._unreadable = (DecodeError, UnicodeDecodeError)
        self._whole = whole
        self._fields = [(name, _path(described, name)) for name in names]

    def read(self, content: bytes) -> Record:
        """Return the fields of a message by their names, or all of it."""
        try:
            message = self._parse(content)
            if self._whole:
                return _object(message)
            record: Record = {}
            for name, path in self._fields:
                value: Any = message
                try:
                    for step in path:
                        value = step(value)
                except _Absent:
                    continue
                record[name] = value
            return record
        except self._unreadable:
            raise Refused(Reason.NOT_AS_SCHEMA) from None


def _path(described: "Descriptor", name: str) -> tuple[Reading, ...]:
    """Return what leads from a message to a field, step by step; `UnusableSchema` if nothing."""
    steps, readings = steps_of(name), list[Reading]()
    inside: Descriptor | None = described
    field: FieldDescriptor | None = None
    many = False
    for count, step in enumerate(steps, 1):
        problem = UnusableSchema(f"has no {text_of(steps[:count])}")
        if many:
            assert field is not None
            readings.append(_item(field, step, problem))
            field, many = _value_of(field), False
        else:
            if inside is None or not isinstance(step, str) or step not in inside.fields_by_name:
                raise problem
            field = inside.fields_by_name[step]
            many = field.is_repeated
            readings.append(
                partial(_present, step) if field.has_presence else attrgetter(field.name)
            )
        inside = None if many or field is None else field.message_type
    assert field is not None
    shown = _shown_many(field) if many else _shown(field)
    return (*readings, shown) if shown is not None else tuple(readings)


def _present(name: str, message: "Message") -> object:
    if not message.HasField(name):
        raise _Absent
    return getattr(message, name)


def _item(field: "FieldDescriptor", step: Step, problem: UnusableSchema) -> Reading:
    """Return what takes one item out of a list, or one value out of a map with keys of text."""
    if not _is_map(field):
        if isinstance(step, str):
            raise problem
        return partial(_item_of_list, step)
    keys = cast("Descriptor", field.message_type).fields_by_name["key"]
    if isinstance(step, int) or keys.type != keys.TYPE_STRING:
        raise problem
    return partial(_value_of_map, step)


def _item_of_list(place: int, items: Any) -> object:
    if place >= len(items):
        raise _Absent
    return items[place]


def _value_of_map(key: str, items: Any) -> object:
    if key not in items:  # or looking would put it there
        raise _Absent
    return items[key]


def _is_map(field: "FieldDescriptor") -> bool:
    inner = field.message_type
    return inner is not None and inner.GetOptions().map_entry


def _value_of(field: "FieldDescriptor") -> "FieldDescriptor":
    """Return what describes an item of a list, or a value of a map."""
    if _is_map(field):
        return cast("Descriptor", field.message_type).fields_by_name["value"]
    return field


def _shown(field: "FieldDescriptor") -> Reading | None:
    """Return what makes a value of JSON from one of a field; None where it is one."""
    if field.message_type is not None:
        if field.message_type.full_name == _TIMESTAMP:
            return _milliseconds
        return _object
    return None if field.enum_type is None else partial(_name, _names(field.enum_type))


def _shown_many(field: "FieldDescriptor") -> Reading:
    shown = _shown(_value_of(field)) or (lambda value: value)
    if _is_map(field):
        return lambda items: {str(key): shown(items[key]) for key in sorted(items)}
    return lambda items: [shown(one) for one in items]


def _milliseconds(moment: Any) -> int:
    return int(moment.seconds) * 1000 + int(moment.nanos) // 1_000_000


def _names(described: "EnumDescriptor") -> dict[int, str]:
    """Return the name of each number, the first one where there are several."""
    names: dict[int, str] = {}
    for value in described.values:
        names.setdefault(value.number, value.name)
    return names


def _name(names: Mapping[int, str], number: int) -> str:
    try:
        return names[number]
    except KeyError:
        raise Refused(Reason.NOT_AS_SCHEMA) from None


def _object(message: "Message") -> Record:
    """Return a message as JSON would have it, with names as they are in the text."""
    record: Record = {}
    for field in cast("Descriptor", message.DESCRIPTOR).fields:
        if field.has_presence and not message.HasField(field.name):
            continue
        value = getattr(message, field.name)
        shown = _shown_many(field) if field.is_repeated else _shown(field)
        record[field.name] = value if shown is None else shown(value)
    return record
