"""Translate a schema of Avro into the program by which compiled code walks over its records."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import orjson

from fugu.dataflows.base.field_paths import steps_of
from fugu.dataflows.records.avro_types import AvroTypes, Schema
from fugu.dataflows.records.scanned import compiled_avro as code
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

_CODES = {
    **{"null": code.NO_VALUE, "boolean": code.TRUTH, "int": code.LONG, "long": code.LONG},
    **{"float": code.FLOAT, "double": code.DOUBLE, "bytes": code.BYTES, "string": code.STRING},
}
_NEVER_WANTED = (code.FLOAT, code.BYTES)


@dataclass(frozen=True)
class Program:
    """Hold the steps of a walk, and the pieces of JSON between the fields that it finds."""

    steps: Integers
    targets: Integers
    pieces: JsonPieces

    @property
    def most_written(self) -> int:
        """Return how many bytes a record becomes at most, beside its own texts."""
        return self.pieces.most_written

    def project(self, source: Source, rows: Integers, prefix: int, into: Into) -> None:
        """Write the fields of these rows, which have so many bytes in front of their content."""
        doubles, slots = np.zeros(self.pieces.slots), self.pieces.slots
        into.end = code.project(
            source.content,
            rows,
            source.begins,
            source.lengths,
            prefix,
            self.steps,
            self.targets,
            self.pieces.symbols,
            self.pieces.symbol_ends,
            self.pieces.content,
            self.pieces.ends,
            np.zeros((code.DEEPEST + 1, 3), dtype=np.int64),
            np.zeros((slots, 3), dtype=np.int64),
            doubles,
            doubles.view(np.int64),
            into.content,
            into.end,
            into.begins,
            into.lengths,
            into.sure,
        )


def program_of(types: AvroTypes, schema: Schema, names: Sequence[str]) -> Program | None:
    """Return the program that finds these fields; None where that takes fastavro."""
    writer = _Writer(types)
    try:
        names = compilable(names)
        writer.add_type(schema, "", [(steps_of(name), slot) for slot, name in enumerate(names)], 0)
    except NotCompiled:
        return None
    writer.add(code.END)
    return Program(
        read_only(np.array(writer.steps)),
        read_only(np.array(writer.targets, dtype=np.int64)),
        JsonPieces.of(names, writer.symbols),
    )


class _Writer:
    """Write the steps of a program, one type after the other."""

    def __init__(self, types: AvroTypes) -> None:
        self.steps: list[list[int]] = []
        self.targets: list[int] = []
        self.symbols: list[bytes] = []
        self._types = types

    def add(self, what: int, *numbers: int, slot: int = NO_SLOT) -> list[int]:
        """Add a step, and return it, so that what is not known yet can be put in."""
        step = [int(what), slot, *numbers]
        self.steps.append(step + [0] * (code.STEP_NUMBERS - len(step)))
        return self.steps[-1]

    def add_type(self, schema: Schema, space: str, wanted: Wanted, depth: int) -> None:
        """Add what reads a value of a type."""
        schema, space = self._types.resolved(schema, space)
        if isinstance(schema, list):
            self._add_union(schema, space, wanted, depth)
        elif isinstance(schema, str):
            slot = slot_of(wanted)
            if slot != NO_SLOT and _CODES[schema] in _NEVER_WANTED:
                raise NotCompiled
            self.add(_CODES[schema], slot=slot)
        elif schema["type"] == "enum":
            self.add(code.ENUM, len(schema["symbols"]), len(self.symbols), slot=slot_of(wanted))
            self.symbols += map(orjson.dumps, schema["symbols"])
        elif schema["type"] in ("array", "map"):
            self._add_loop(schema, space, wanted, depth + 1)
        elif any(not rest for rest, _ in wanted):
            raise NotCompiled
        elif schema["type"] == "fixed":
            self.add(code.FIXED, int(schema["size"]))
        else:
            for field in schema["fields"]:
                inside = [(rest[1:], slot) for rest, slot in wanted if rest[0] == field["name"]]
                self.add_type(field["type"], space, inside, depth)

    def _add_union(
        self, branches: Sequence[Schema], space: str, wanted: Wanted, depth: int
    ) -> None:
        first = len(self.targets)
        self.targets += [0] * len(branches)
        self.add(code.UNION, len(branches), first)
        jumps = []
        for place, branch in enumerate(branches):
            self.targets[first + place] = len(self.steps)
            held = [one for one in wanted if self._types.can_hold(branch, space, one[0])]
            self.add_type(branch, space, held, depth)
            jumps.append(self.add(code.JUMP))
        for jump in jumps:
            jump[2] = len(self.steps)

    def _add_loop(self, schema: Schema, space: str, wanted: Wanted, depth: int) -> None:
        is_map = schema["type"] == "map"
        if depth > code.DEEPEST or any(not rest or is_map for rest, _ in wanted):
            raise NotCompiled
        items = schema["values" if is_map else "items"]
        places = sorted({rest[0] for rest, _ in wanted if isinstance(rest[0], int)})
        first = len(self.targets)
        self.targets += [0] * (2 * len(places))
        loop = self.add(code.LOOP, is_map, first, 0, len(places))
        self.add_type(items, space, [], depth)
        self.add(code.NEXT)
        for number, place in enumerate(places):
            self.targets[first + 2 * number : first + 2 * number + 2] = [place, len(self.steps)]
            inside = [(rest[1:], slot) for rest, slot in wanted if rest[0] == place]
            self.add_type(items, space, inside, depth)
            self.add(code.NEXT)
        loop[4] = len(self.steps)
