"""Read records of Protocol Buffers, whose schema is a text.

Only fields that are asked for are looked at, unless the whole message is.

Enums are read by name. A Timestamp is the number of milliseconds since 1970. A field that has no
presence, such as a number of proto3, holds its default value where a record does not name it.
"""

from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.errors import is_of_one_record
from fugu.dataflows.base.field_paths import Step, steps_of, text_of
from fugu.dataflows.files.proto_compiler import MAIN, SECONDS, UnusableText, descriptors_of
from fugu.dataflows.records.json_fields import Record, Refused, UnusableSchema

if TYPE_CHECKING:
    from google.protobuf.descriptor import (
        Descriptor,
        EnumDescriptor,
        FieldDescriptor,
        FileDescriptor,
    )
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
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


_MOST_NESTED = 32
"""Types inside of types that a record may name."""
_LONGEST_VARINT = 10
_MOST_MEMORY = 500_000_000
_BYTES_A_FIELD = 4
"""A message of two bytes takes eight for each field of its type, whether it is there or not."""


class ProtobufSchema:
    """Read content by one text, whose types are those of its records.

    A record begins with the place of its type in the text, as Confluent's serializers write it.
    """

    def __init__(self, file: "FileDescriptor", names: Iterable[str], whole: bool) -> None:
        self._file, self._names, self._whole = file, tuple(dict.fromkeys(names)), whole
        self._longest = _MOST_MEMORY // (_BYTES_A_FIELD * max(1, _most_repeated_fields(file)))
        self._readers: dict[tuple[int, ...], MessageReader | str] = {}

    @classmethod
    def of(
        cls,
        text: str,
        names: Iterable[str],
        others: Mapping[str, str] | None = None,
        whole: bool = False,
        seconds: float = SECONDS,
    ) -> "ProtobufSchema":
        """Compile a text, and those that it imports; `UnusableSchema` says why not.

        Records are read as fields with these names, or as whole messages, which can hold them.
        """
        from google.protobuf.descriptor_pool import DescriptorPool

        try:
            pool = DescriptorPool()
            for file in _files(text, others or {}, seconds):
                pool.Add(file)
            return cls(pool.FindFileByName(MAIN), names, whole)
        except UnusableText as error:
            raise UnusableSchema(str(error)) from None
        except Exception as error:  # of whatever kind, such as for a type that nobody describes
            if not is_of_one_record(error):
                raise
            raise UnusableSchema(
                f"is no schema of Protocol Buffers ({type(error).__name__})"
            ) from None

    def read(self, content: bytes) -> Record:
        """Return the fields of a record by their names, or the whole message.

        `UnusableSchema` says that its type cannot hold them.
        """
        if len(content) > self._longest:
            raise Refused(Reason.TOO_LARGE)
        places, begin = _places(content)
        reader = self._readers.get(places)
        if reader is None:
            reader = self._readers[places] = self._reader(places)
        if isinstance(reader, str):
            raise UnusableSchema(reader)
        return reader.read(content[begin:])

    def check(self) -> None:
        """Raise `UnusableSchema` where the first type of the text cannot hold the fields."""
        found = self._reader((0,))
        if isinstance(found, str):
            raise UnusableSchema(found)

    def _reader(self, places: tuple[int, ...]) -> "MessageReader | str":
        types, described = list(self._file.message_types_by_name.values()), None
        for place in places:
            if place >= len(types):
                raise Refused(Reason.NOT_AS_SCHEMA)
            described = types[place]
            types = list(described.nested_types)
        try:
            return MessageReader(cast("Descriptor", described), self._names, self._whole)
        except UnusableSchema as error:
            return str(error)
        except Exception as error:  # of whatever kind, for a descriptor that nobody foresaw
            return f"is no schema of Protocol Buffers ({type(error).__name__})"


def _most_repeated_fields(file: "FileDescriptor") -> int:
    """Return how many fields a type has at most of which a message may hold any number."""
    most, known = 0, set[str]()
    left = [(one, False) for one in file.message_types_by_name.values()]
    while left:
        described, many = left.pop()
        key = f"{described.full_name} {many}"
        if key in known:
            continue
        known.add(key)
        most = max(most, len(described.fields) if many else 0)
        left += [(one, False) for one in described.nested_types]
        for field in described.fields:
            if field.message_type is not None:
                left.append((field.message_type, many or field.is_repeated))
    return most


def _files(text: str, others: Mapping[str, str], seconds: float) -> "Sequence[FileDescriptorProto]":
    """Return descriptors of a text and of what it imports, those first that others import.

    Serializers of Python register descriptors instead of texts, in base64.
    """
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    main = _described(MAIN, text)
    if main is None:
        return FileDescriptorSet.FromString(descriptors_of(text, others, seconds)).file
    described = {name: _described(name, one) for name, one in others.items()}
    if None in described.values():
        raise UnusableText("is a descriptor, and imports a text")
    files = [*(one for one in described.values() if one is not None), main]
    known = {one for file in files for one in file.dependency} - described.keys()
    if not known:
        return files
    imports = "".join(f'import "{one}";' for one in sorted(known))
    with_types = descriptors_of(f'syntax = "proto3";{imports}', {}, seconds)
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
