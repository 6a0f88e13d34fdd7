"""Write wanted fields of a column of records as JSON, for the scanner to read."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.records.scanned import compiled_avro as code
from fugu.dataflows.records.scanned.avro_program import Program
from fugu.dataflows.records.scanned.compiled_objects import Flags
from fugu.dataflows.records.schema_ids import LARGEST_ID, MAGIC, PREFIX_BYTES
from fugu.operators.compiled.compiling import read_only
from fugu.operators.mechanism import Integers


class Projected(NamedTuple):
    """Hold wanted fields as JSON; where a record is not `sure`, they mean nothing."""

    records: OptionalByteColumn
    sure: Flags


def projected(
    records: OptionalByteColumn, prefix: int, parts: Iterable[tuple[Integers, Program]]
) -> Projected:
    """Return the wanted fields of records, some of which have each program."""
    parts, count = list(parts), len(records)
    content = np.ascontiguousarray(records.content)
    begins, lengths = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    sure = np.zeros(count, dtype=bool)
    sizes = (len(rows) * program.most_written for rows, program in parts)
    texts = int(np.maximum(records.lengths, 0).sum())
    out, end = np.empty(sum(sizes) + texts, dtype=np.uint8), 0
    record_begins, record_lengths = read_only(records.begins), read_only(records.lengths)
    for rows, program in parts:
        doubles = np.zeros(program.slots)
        end = code.project(
            content,
            read_only(rows),
            record_begins,
            record_lengths,
            prefix,
            program.steps,
            program.targets,
            program.symbols,
            program.symbol_ends,
            program.pieces,
            program.piece_ends,
            np.zeros((code.DEEPEST + 1, 3), dtype=np.int64),
            np.zeros((program.slots, 3), dtype=np.int64),
            doubles,
            doubles.view(np.int64),
            out,
            end,
            begins,
            lengths,
            sure,
        )
    return Projected(OptionalByteColumn(out, begins, lengths), sure)


def rows_by_schema(records: OptionalByteColumn) -> dict[int, Integers]:
    """Return the rows that begin with the id of each schema; others are left out."""
    content = np.ascontiguousarray(records.content)
    begins, lengths = records.begins, records.lengths
    rows = np.flatnonzero(lengths >= PREFIX_BYTES)
    heads = content[begins[rows][:, None] + np.arange(PREFIX_BYTES)].astype(np.int64)
    ids = heads[:, 1:] @ (256 ** np.arange(PREFIX_BYTES - 2, -1, -1))
    fitting = (heads[:, 0] == MAGIC) & (ids <= LARGEST_ID)
    rows, ids = rows[fitting], ids[fitting]
    return {int(number): rows[ids == number] for number in np.unique(ids)}
