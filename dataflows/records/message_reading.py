"""Read messages of one type of Protocol Buffers.

Only fields that are asked for are looked at, unless the whole message is.

Enums are read by name. A Timestamp is the number of milliseconds since 1970. A field that has no
presence, such as a number of proto3, holds its default value where a record does not name it.
"""

from collections.abc import Callable
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

MOST_FIELDS = 100_000
"""Fields of all messages inside of one that is read whole."""
_TIMESTAMP = "google.protobuf.Timestamp"

Reading = Callable[[Any], object]
Names = dict[str, dict[int, str]]
"""Names of the numbers of each enum that was met."""


class _Absent(Exception):
    """Report that a path leads to nothing."""


class MessageReader:
    """Read messages of one type."""

    def __init__(self, described: "Descriptor", names: tuple[str, ...], whole: bool) -> None:
        from google.protobuf.message_factory import GetMessageClass

        self._parse: Callable[[bytes], Message] = GetMessageClass(described).FromString
        self._whole = whole
        self._names: Names = {}
        self._fields = [(name, _path(described, name, self._names)) for name in names]

    def read(self, content: bytes) -> Record:
        """Return the fields of a message by their names, or all of it."""
        try:
            message = self._parse(content)
            if self._whole:
                return _Values(self._names).object(message)
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
        except Refused:
            raise
        except Exception:  # of whatever kind protobuf has for such content
            raise Refused(Reason.NOT_AS_SCHEMA) from None


def _path(described: "Descriptor", name: str, names: Names) -> tuple[Reading, ...]:
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
    if not many and field.message_type is None and field.enum_type is None:
        return tuple(readings)
    return (*readings, partial(_value, field, many, names))


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


def _value(field: "FieldDescriptor", many: bool, names: Names, value: Any) -> object:
    values = _Values(names)
    return values.of_many(field, value) if many else values.of(field, value)


class _Values:
    """Make values as JSON would have them, of one message."""

    def __init__(self, names: Names) -> None:
        self._left, self._names = MOST_FIELDS, names

    def of(self, field: "FieldDescriptor", value: Any) -> object:
        """Return what one field, or one item of it, holds."""
        if field.message_type is not None:
            if field.message_type.full_name == _TIMESTAMP:
                return int(value.seconds) * 1000 + int(value.nanos) // 1_000_000
            return self.object(value)
        return value if field.enum_type is None else self._name(field.enum_type, value)

    def of_many(self, field: "FieldDescriptor", items: Any) -> object:
        """Return what a list or a map holds."""
        inner = _value_of(field)
        if _is_map(field):
            return {str(key): self.of(inner, items[key]) for key in sorted(items)}
        return [self.of(inner, one) for one in items]

    def object(self, message: "Message") -> Record:
        """Return a message, with names as they are in the text.

        A few bytes may stand for many fields that are left out; there is an end to that.
        """
        fields = cast("Descriptor", message.DESCRIPTOR).fields
        self._left -= len(fields)
        if self._left < 0:
            raise Refused(Reason.TOO_LARGE)
        record: Record = {}
        for field in fields:
            if field.has_presence and not message.HasField(field.name):
                continue
            value = getattr(message, field.name)
            kind = self.of_many if field.is_repeated else self.of
            record[field.name] = kind(field, value)
        return record

    def _name(self, described: "EnumDescriptor", number: int) -> str:
        """Return the name of a number, the first one where there are several."""
        names = self._names.get(described.full_name)
        if names is None:
            names = self._names[described.full_name] = {}
            for value in described.values:
                names.setdefault(value.number, value.name)
        try:
            return names[number]
        except KeyError:
            raise Refused(Reason.NOT_AS_SCHEMA) from None
