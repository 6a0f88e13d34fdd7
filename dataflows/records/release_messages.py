"""Describe releases as a message of Protocol Buffers, and write their JSON as one.

The bytes are written here and not by google.protobuf, which may order and leave out fields as it
likes in another version: a replay must write what was published.

Fields have numbers in their order, from 1. A list and a field that is always there have no
presence, so that what is their default is left out, as proto3 has it.
"""

import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from fugu.dataflows.records.released_fields import Shown
from fugu.dataflows.records.unusable_schema import UnusableSchema

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_TYPES = {"string": "string", "long": "int64", "double": "double", "boolean": "bool"}
_VARINT, _EIGHT_BYTES, _SIZED = 0, 1, 2
_WIRE_TYPES = {"string": _SIZED, "long": _VARINT, "double": _EIGHT_BYTES, "boolean": _VARINT}
_FIRST_TYPE = b"\0"
"""The place of the message in its text, which stands in front of each."""


def message_text(shown: Sequence[Shown]) -> str:
    """Return the text of a message with these fields; `UnusableSchema` where it has no such names.

    >>> print(message_text([Shown("watts", "double", "the released number")]))
    syntax = "proto3";
    package fugu;
    <BLANKLINE>
    message Release {
      double watts = 1; // the released number
    }
    <BLANKLINE>
    """
    _refuse_odd_names([one.name for one in shown])
    fields = "".join(
        f"  {_label(one)}{_TYPES[one.type]} {one.name} = {number}; // {one.about}\n"
        for number, one in enumerate(shown, 1)
    )
    return f'syntax = "proto3";\npackage fugu;\n\nmessage Release {{\n{fields}}}\n'


def _label(one: Shown) -> str:
    if one.many:
        return "repeated "
    return "optional " if one.null else ""


def _refuse_odd_names(names: Sequence[str]) -> None:
    known: dict[str, str] = {}
    for name in names:
        if not _NAME.fullmatch(name):
            raise UnusableSchema(
                f"Protocol Buffers have no fields that are called {name}; write kind: json_schema"
            )
        other = known.setdefault(name.replace("_", "").lower(), name)
        if other != name:
            raise UnusableSchema(
                f"{other} and {name} are one name in code for Protocol Buffers; write "
                "kind: json_schema"
            )


def message_writer(shown: Sequence[Shown]) -> Callable[[bytes], bytes]:
    """Return what makes a message of a release in JSON.

    >>> watts = Shown("watts", "double", "the released number")
    >>> message_writer([watts])(b'{"watts": 2.0}')
    b'\\x00\\t\\x00\\x00\\x00\\x00\\x00\\x00\\x00@'
    """
    fields = [(one, number) for number, one in enumerate(shown, 1)]

    def write(content: bytes) -> bytes:
        release = orjson.loads(content)
        parts = (_field(one, number, release.get(one.name)) for one, number in fields)
        return _FIRST_TYPE + b"".join(parts)

    return write


def _field(one: Shown, number: int, value: Any) -> bytes:
    """Return a field with its tag; nothing for null and for a default that has no presence.

    `ValueError` names a field without a value whose readers would see one.
    """
    tag = _varint(number << 3 | _WIRE_TYPES[one.type])
    if one.many:
        if one.type == "string":
            return b"".join(tag + _written(one.type, each) for each in value)
        packed = b"".join(_written(one.type, each) for each in value)
        return _varint(number << 3 | _SIZED) + _sized(packed) if packed else b""
    if value is None:
        if not one.null and one.default is None:
            raise ValueError(f"{one.name} is missing: readers would take it for 0")
        return b""
    written = _written(one.type, value)
    return tag + written if one.null or any(written) else b""


def _written(kind: str, value: Any) -> bytes:
    if kind == "string":
        return _sized(value.encode())
    if kind == "double":
        return struct.pack("<d", value)
    return _varint(int(value) & (2**64 - 1))


def _sized(content: bytes) -> bytes:
    return _varint(len(content)) + content


def _varint(number: int) -> bytes:
    """Return a number without a sign, seven bits in a byte.

    >>> _varint(300)
    b'\\xac\\x02'
    """
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)
