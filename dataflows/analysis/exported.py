"""Write a sanitized topic into Parquet files by day, exactly once, and read them back.

A file holds the releases of a partition of one day, from one offset to another, and is named after
them. It appears whole or not at all. A range that is on record is never written again, so whoever
is killed in the middle writes the same files when it is run again.
"""

import os
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from fugu.dataflows.base.errors import CannotBeEstimated
from fugu.dataflows.publishing.promise import Promise, in_order

PROMISES = b"fugu.promises"
BEGIN = b"fugu.begin"
"""The first offset of the partition that could be exported."""
_DAY = 86_400_000


def write_days(
    records: pa.Table, promises: list[Promise], begin: int, folder: Path, first: int, end: int
) -> list[Path]:
    """Write the releases of one partition with first <= offset < end, a file for each day."""
    partition = int(records["partition"][0].as_py())
    days = records["time"].cast(pa.int64()).to_numpy() // _DAY
    listed = [orjson.loads(one.value()) for one in promises]
    about = {PROMISES: orjson.dumps(listed), BEGIN: b"%d" % begin}
    written = []
    for day in np.unique(days).tolist():
        own = records.filter(pa.array(days == day)).replace_schema_metadata(about)
        date = np.datetime64(day, "D")
        path = folder / f"day={date}" / f"p{partition:05d}-{first:020d}-{end:020d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_whole(own, path)
        written.append(path)
    return written


def _write_whole(table: pa.Table, path: Path) -> None:
    """Write beside the final name, then rename: a reader never sees a part of a file."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    pq.write_table(table, unfinished, compression="zstd")
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
    unfinished.replace(path)


def read_files(
    place: Path, leave_out: Collection[str] = ()
) -> tuple[pa.Table, list[Promise], dict[int, int]]:
    """Return releases in the order of partitions and offsets, promises, and where partitions
    begin; some columns may be left out."""
    paths = sorted(_files(place))
    if not paths:
        raise CannotBeEstimated(f"{place}: is no Parquet file, and no directory that holds any")
    tables, promises, begins = list[pa.Table](), dict[bytes, Promise](), dict[int, int]()
    keys: list[list[bytes]] = []
    for path in paths:
        try:
            names = pq.read_schema(path).names
            table = pq.read_table(
                path,
                columns=[name for name in names if name not in leave_out],
                partitioning=None,
                read_dictionary=["user", "kind", "value"],
            )
        except pa.ArrowInvalid:
            raise CannotBeEstimated(f"{path}: is no Parquet file") from None
        about = table.schema.metadata or {}
        keys.append([])
        for document in orjson.loads(about.get(PROMISES, b"[]")):
            promise = Promise.read(orjson.dumps(document))
            if promise is None:
                raise CannotBeEstimated(
                    f"{path}: holds a promise that is damaged; export the topic again"
                )
            promises[promise.key] = promise
            keys[-1].append(promise.key)
        if len(table):
            begins[int(table["partition"][0].as_py())] = int(about.get(BEGIN, b"0"))
        tables.append(table.replace_schema_metadata(None))
    ordered = in_order(promises.values())
    numbers = {promise.key: number for number, promise in enumerate(ordered)}
    tables = [
        _renumbered(table, [numbers[key] for key in own])
        for table, own in zip(tables, keys, strict=True)
    ]
    records = pa.concat_tables(tables, promote_options="default")
    order = np.lexsort((records["offset"].to_numpy(), records["partition"].to_numpy()))
    if (np.diff(order) != 1).any():
        records = records.take(pa.array(order))
    return records, ordered, begins


def _renumbered(table: pa.Table, numbers: list[int]) -> pa.Table:
    """Number the laws of a file as those of all files are."""
    if numbers == list(range(len(numbers))):
        return table
    laws = np.array(numbers, dtype=np.int32)[table["law"].to_numpy()]
    return table.set_column(table.column_names.index("law"), "law", pa.array(laws))


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
    else:
        yield from (one for one in place.rglob("*.parquet") if not one.name.startswith("."))
