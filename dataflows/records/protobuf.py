"""Read records of Protocol Buffers, whose schema is a text.

A record begins with the place of its type in the text, as Confluent's serializers write it. Only
fields that are asked for are looked at, unless the whole message is.

Enums are read by name. A Timestamp is the number of milliseconds since 1970. A field that has no
presence, such as a number of proto3, holds its default value where a record does not name it.
"""

from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.field_paths import Step, steps_of, text_of
from fugu.dataflows.files.proto_compiler import MAIN, UnusableText, descriptors_of
from fugu.dataflows.records.json_fields import Record, Refused
from fugu.dataflows.records.unusable_schema import UnusableSchema

if TYPE_CHECKING:
    from google.protobuf.descriptor import (
        Descriptor,
        EnumDescriptor,
        FieldDescriptor,
        FileDescriptor,
    )
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import Message

    from fugu.dataflows.records.protobuf_program import MessageProgram

_MOST_NESTED = 32
"""Types inside of types that a record may name."""
_LONGEST_VARINT = 10
_TIMESTAMP = "google.protobuf.Timestamp"

Reading = Callable[[Any], object]


class _Absent(Exception):
    """Report that a path leads to nothing."""


class ProtobufSchema:
    """Read content by one text, whose types are those of its records."""

    def __init__(self, file: "FileDescriptor", names: Iterable[str], whole: bool) -> None:
        self._file, self._names, self._whole = file, tuple(dict.fromkeys(names)), whole
        self._readers: dict[tuple[int, ...], _MessageReader | str] = {}

    @classmethod
    def of(
        cls,
        text: str,
        names: Iterable[str],
        others: Mapping[str, str] | None = None,
        whole: bool = False,
    ) -> "ProtobufSchema":
        """Compile a text, and those that it imports; `UnusableSchema` says why not.

        Records are read as fields with these names, or as whole messages, which can hold them.
        """
        from google.protobuf.descriptor_pool import DescriptorPool

        try:
            files = _files(text, others or {})
        except UnusableText as error:
            raise UnusableSchema(str(error)) from None
        pool = DescriptorPool()
        try:
            for file in files:
                pool.Add(file)
            return cls(pool.FindFileByName(MAIN), names, whole)
        except (TypeError, KeyError):  # such as a type that nobody describes
            raise UnusableSchema("is no schema of Protocol Buffers") from None

    @classmethod
    def made_up(cls) -> "ProtobufSchema":
        """Return a schema that comes with Protocol Buffers."""
        from google.protobuf.timestamp_pb2 import DESCRIPTOR

        return cls(DESCRIPTOR, ["seconds"], whole=False)

    def read(self, content: bytes) -> Record:
        """Return the fields of a record by their names, or the whole message.

        `UnusableSchema` says that its type cannot hold them.
        """
        places, begin = _places(content)
        reader = self._readers.get(places)
        if reader is None:
            reader = self._readers[places] = self._reader(places)
        if isinstance(reader, str):
            raise UnusableSchema(reader)
        return reader.read(content[begin:])

    @cached_property
    def program(self) -> "MessageProgram | None":
        """Return what compiled code reads the first type by, where it can; it needs numba."""
        from fugu.dataflows.records.protobuf_program import message_program

        types = list(self._file.message_types_by_name.values())
        if self._whole or not types or isinstance(self._reader((0,)), str):
            return None
        return message_program(types[0], self._names)

    def check(self) -> None:
        """Raise `UnusableSchema` where the first type of the text cannot hold the fields."""
        found = self._reader((0,))
        if isinstance(found, str):
            raise UnusableSchema(found)

    def _reader(self, places: tuple[int, ...]) -> "_MessageReader | str":
        types, described = list(self._file.message_types_by_name.values()), None
        for place in places:
            if place >= len(types):
                raise Refused(Reason.NOT_AS_SCHEMA)
            described = types[place]
            types = list(described.nested_types)
        try:
            return _MessageReader(cast("Descriptor", described), self._names, self._whole)
        except UnusableSchema as error:
            return str(error)


def _files(text: str, others: Mapping[str, str]) -> "Sequence[FileDescriptorProto]":
    """Return descriptors of a text and of what it imports, those first that others import.

    Serializers of Python register descriptors instead of texts, in base64.
    """
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    main = _described(MAIN, text)
    if main is None:
        return FileDescriptorSet.FromString(descriptors_of(text, others)).file
    described = {name: _described(name, one) for name, one in others.items()}
    if None in described.values():
        raise UnusableText("is a descriptor, and imports a text")
    files = [*(one for one in described.values() if one is not None), main]
    known = {one for file in files for one in file.dependency} - described.keys()
    imports = "".join(f'import "{one}";' for one in sorted(known))
    with_types = descriptors_of(f'syntax = "proto3";{imports}', {})
    beside = [one for one in FileDescriptorSet.FromString(with_types).file if one.name != MAIN]
    return [*beside, *files]


def _described(name: str, text: str) -> "FileDescriptorProto | None":
    """Return a descriptor, under this name; None for a text."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import DecodeError

    try:
        file = FileDescriptorProto.FromString(b64decode(text, validate=True))
    except (ValueError, DecodeError):
        return None
    file.name = name
    return file


class _MessageReader:
    """Read messages of one type."""

    def __init__(self, described: "Descriptor", names: tuple[str, ...], whole: bool) -> None:
        from google.protobuf.message import DecodeError
        from google.protobuf.message_factory import GetMessageClass

        self._parse: Callable[[bytes], Message] = GetMessageClass(described).FromString
        self._unreadable = (DecodeError, UnicodeDecodeError)
        self._whole = whole
        self._fields = [(name, _path(described, name)) for name in names]

    def read(self, content: bytes) -> Record:
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


def _places(content: bytes) -> tuple[tuple[int, ...], int]:
    """Return where the type of a record is in its text, and where its message begins."""
    if content[:1] == b"\0":
        return (0,), 1
    count, at = _varint(content, 0)
    if not 0 < count <= _MOST_NESTED:
        raise Refused(Reason.NOT_AS_SCHEMA)
    places = []
    for _ in range(count):
        place, at = _varint(content, at)
        if place < 0:
            raise Refused(Reason.NOT_AS_SCHEMA)
        places.append(place)
    return tuple(places), at


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """Return a number in zigzag, and where it ends."""
    bits = 0
    for place in range(_LONGEST_VARINT):
        if at + place >= len(content):
            break
        byte = content[at + place]
        bits |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return (bits >> 1) ^ -(bits & 1), at + place + 1
    raise Refused(Reason.NOT_AS_SCHEMA)
