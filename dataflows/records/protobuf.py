"""Read records of Protocol Buffers, whose schema is a text.

A record begins with the place of its type in the text, as Confluent's serializers write it.
"""

from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.files.proto_compiler import MAIN, SECONDS, UnusableText, descriptors_of
from fugu.dataflows.records.json_fields import Record, Refused
from fugu.dataflows.records.message_reading import MessageReader
from fugu.dataflows.records.unusable_schema import UnusableSchema

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FileDescriptor
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

_MOST_NESTED = 32
"""Types inside of types that a record may name."""
_LONGEST_VARINT = 10
_MOST_MEMORY = 500_000_000
_BYTES_A_FIELD = 4
"""A message of two bytes takes eight for each field of its type, whether it is there or not."""


class ProtobufSchema:
    """Read content by one text, whose types are those of its records."""

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
