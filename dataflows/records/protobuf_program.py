"""Translate a type of Protocol Buffers into the tables by which compiled code walks over it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import orjson

from fugu.dataflows.base.field_paths import steps_of
from fugu.dataflows.records.scanned import compiled_protobuf as code
from fugu.dataflows.records.scanned.compiled_slots import DECIMAL, FALSE, INTEGER, SYMBOL, TEXT
from fugu.dataflows.records.scanned.json_pieces import (
    NO_SLOT,
    Into,
    JsonPieces,
    NotCompiled,
    Source,
    Wanted,
    compilable,
    slot_of,
)
from fugu.operators.compiled.compiling import read_only
from fugu.operators.mechanism import Integers

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

_TYPES: Mapping[int, int] = {
    **{1: code.DOUBLE, 2: code.FLOAT, 3: code.INT64, 4: code.UINT64, 5: code.INT32},
    **{6: code.FIXED64, 7: code.FIXED32, 8: code.BOOL, 9: code.STRING, 11: code.MESSAGE},
    **{12: code.BYTES, 13: code.UINT32, 14: code.ENUM, 15: code.SFIXED32, 16: code.SFIXED64},
    **{17: code.SINT32, 18: code.SINT64},
}
"""Types by the numbers that descriptors have for them; a group has none here."""
_NEVER_WANTED = (code.FLOAT, code.BYTES)
_TIMESTAMP = "google.protobuf.Timestamp"
_MOST_NODES = 1_000


@dataclass(frozen=True)
class MessageProgram:
    """Hold tables of messages, of their fields and defaults, and the pieces of JSON around them."""

    nodes: Integers
    fields: Integers
    targets: Integers
    defaults: Integers
    pieces: JsonPieces

    @property
    def most_written(self) -> int:
        """Return how many bytes a record becomes at most, beside its own texts."""
        return self.pieces.most_written

    def project(self, source: Source, rows: Integers, prefix: int, into: Into) -> None:
        """Write the fields of these rows, whose content begins with the place of their type."""
        doubles, slots = np.zeros(self.pieces.slots), self.pieces.slots
        into.end = code.project_messages(
            source.content,
            rows,
            source.begins,
            source.lengths,
            prefix + 1,
            self.nodes,
            self.fields,
            self.targets,
            self.defaults,
            self.pieces.symbols,
            self.pieces.symbol_ends,
            self.pieces.content,
            self.pieces.ends,
            np.zeros((code.DEEPEST, 2), dtype=np.int64),
            np.zeros(len(self.fields), dtype=np.int64),
            np.zeros((slots, 3), dtype=np.int64),
            doubles,
            doubles.view(np.int64),
            into.content,
            into.end,
            into.begins,
            into.lengths,
            into.sure,
        )


def message_program(described: "Descriptor", names: Sequence[str]) -> MessageProgram | None:
    """Return the tables that find these fields; None where that takes the library."""
    writer = _Writer()
    try:
        names = compilable(names)
        writer.node(described, [(steps_of(name), slot) for slot, name in enumerate(names)])
    except NotCompiled:
        return None
    fields, defaults = writer.laid_out()
    return MessageProgram(
        read_only(np.array(writer.nodes)),
        read_only(np.array(fields, dtype=np.int64).reshape(-1, 8)),
        read_only(np.array(writer.targets, dtype=np.int64)),
        read_only(np.array(defaults, dtype=np.int64).reshape(-1, 3)),
        JsonPieces.of(names, writer.symbols),
    )


class _Writer:
    """Write a table for each message on the way to a field, and one for each other type."""

    def __init__(self) -> None:
        self.nodes: list[list[int]] = []
        self.targets: list[int] = []
        self.symbols: list[bytes] = []
        self._fields: list[list[list[int]]] = []
        self._defaults: list[list[list[int]]] = []
        self._plain: dict[str, int] = {}

    def laid_out(self) -> tuple[list[list[int]], list[list[int]]]:
        """Put the tables one behind the other, and return their fields and defaults."""
        fields, defaults = list[list[int]](), list[list[int]]()
        for node, own, preset in zip(self.nodes, self._fields, self._defaults, strict=True):
            node[:] = [len(fields), len(fields) + len(own)]
            fields += own
            node += [len(defaults), len(defaults) + len(preset)]
            defaults += preset
        return fields, defaults

    def node(self, described: "Descriptor", wanted: Wanted) -> int:
        """Return the number of the table of a message."""
        if not wanted and described.full_name in self._plain:
            return self._plain[described.full_name]
        if described.is_extendable or len(self.nodes) >= _MOST_NODES:
            raise NotCompiled
        number = len(self.nodes)
        self.nodes.append([])
        self._fields.append([])
        self._defaults.append([])
        if not wanted:
            self._plain[described.full_name] = number
        for field in described.fields:
            inside = [(rest[1:], slot) for rest, slot in wanted if rest[0] == field.name]
            row = self._row(field, inside, number)
            row[code.CLASHES] = _clears_another(field, {str(rest[0]) for rest, _ in wanted})
            self._fields[number].append(row)
        return number

    def _row(self, field: "FieldDescriptor", wanted: Wanted, node: int) -> list[int]:
        kind = _TYPES.get(field.type)
        if kind is None or field.is_required:
            raise NotCompiled
        slot = slot_of(wanted)
        row = [field.number, kind, slot, 0, int(field.is_repeated), 0, 0, 0]
        if kind == code.MESSAGE:
            self._lead_inside(field, wanted, row)
        elif wanted:
            if field.is_repeated or kind in _NEVER_WANTED:
                raise NotCompiled
            if kind == code.ENUM:
                row[code.CHILD] = self._enum(cast("EnumDescriptor", field.enum_type))
            if not field.has_presence:
                self._defaults[node].append([slot, *self._default(kind, row[code.CHILD])])
        return row

    def _lead_inside(self, field: "FieldDescriptor", wanted: Wanted, row: list[int]) -> None:
        inner, slot = cast("Descriptor", field.message_type), row[code.SLOT]
        row[code.CHILD] = self.node(inner, [])
        if not wanted:
            return
        if inner.GetOptions().map_entry:
            raise NotCompiled
        if slot != NO_SLOT:
            if inner.full_name != _TIMESTAMP or field.is_repeated:
                raise NotCompiled
            choices = [0, self._time(inner, slot)]
        elif field.is_repeated:
            choices = []
            for place in sorted({int(rest[0]) for rest, _ in wanted}):
                own = [(rest[1:], one) for rest, one in wanted if rest[0] == place]
                if any(not rest for rest, _ in own):
                    raise NotCompiled
                choices += [place, self.node(inner, own)]
        else:
            choices = [0, self.node(inner, wanted)]
        row[code.CHOICE], row[code.CHOICES] = len(self.targets), len(choices) // 2
        self.targets += choices

    def _time(self, described: "Descriptor", slot: int) -> int:
        """Return the number of the table of a time that is wanted itself."""
        number = len(self.nodes)
        self.nodes.append([])
        self._defaults.append([])
        kinds = {"seconds": code.SECONDS, "nanos": code.NANOS}
        rows = [[one.number, kinds[one.name], slot, 0, 0, 0, 0, 0] for one in described.fields]
        self._fields.append(rows)
        return number

    def _enum(self, described: "EnumDescriptor") -> int:
        """Return where the numbers of an enum are, each with the place of its name."""
        begin, named = len(self.targets), dict[int, str]()
        for value in described.values:
            named.setdefault(value.number, value.name)
        self.targets.append(len(named))
        for number, name in named.items():
            self.targets += [number, len(self.symbols)]
            self.symbols.append(orjson.dumps(name))
        return begin

    def _default(self, kind: int, child: int) -> tuple[int, int]:
        """Return the kind and the value of a field without presence that is left out."""
        if kind == code.STRING:
            return TEXT, 0
        if kind == code.ENUM:
            pairs = self.targets[child + 1 : child + 1 + 2 * self.targets[child]]
            zero = dict(zip(pairs[::2], pairs[1::2], strict=True)).get(0)
            if zero is None:
                raise NotCompiled
            return SYMBOL, zero
        if kind == code.BOOL:
            return FALSE, 0
        return (DECIMAL, 0) if kind == code.DOUBLE else (INTEGER, 0)


def _clears_another(field: "FieldDescriptor", wanted: set[str]) -> int:
    """Return whether a field clears a wanted one, whose `oneof` it is in."""
    among = field.containing_oneof
    return int(
        among is not None
        and field.name not in wanted
        and any(other.name in wanted for other in among.fields)
    )
