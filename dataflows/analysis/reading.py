"""Read a sanitized topic: from Kafka, from exported files, or from a consumer that runs."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from warnings import warn

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from fugu.dataflows.analysis.collected import COLLECTED, collected_range, collected_records
from fugu.dataflows.analysis.consumers import Consumer, records_of
from fugu.dataflows.analysis.decoding import decoded
from fugu.dataflows.analysis.exported import read_files
from fugu.dataflows.analysis.topic import Topic, width_of
from fugu.dataflows.analysis.unwrapping import unwrapped
from fugu.dataflows.base.errors import CannotBeEstimated, ConfigurationError, KafkaUnavailable
from fugu.dataflows.base.install import install
from fugu.dataflows.base.visible import visible
from fugu.dataflows.kafka.client import Bounds, Client
from fugu.dataflows.kafka.connection import Kafka
from fugu.dataflows.publishing.checked_promise import PromiseAlarm, checked_promise
from fugu.dataflows.publishing.promise import Promise
from fugu.dataflows.publishing.promises_topic import in_order, promises_topic, read_promises

Source = str | os.PathLike[str] | Iterable[Any] | Consumer
Given = Promise | Mapping[str, Any] | str | os.PathLike[str]
_NOT_ESTIMATED = ("release",)
"""Columns of exported files that estimates do not need: names of releases are the most of them."""
_HOW = (
    "give it: promise=FILE, which fugu explain PIPELINE --json > FILE makes where the pipeline is"
)


def read(
    source: Source,
    *,
    since: str | None = None,
    promise: Given | None = None,
    files: Mapping[str, str | os.PathLike[str]] | None = None,
    kafka: Mapping[str, Any] | None = None,
) -> Topic:
    """Read a sanitized topic, and what was promised of it.

    `source` is `kafka://HOST:PORT/TOPIC`, a Parquet file or a directory of them (`fugu export`), or
    a consumer of kafka-python or confluent-kafka, which is read up to where its partitions end now,
    or an iterable of such records. `since` is a length of time before now, or a date:
    what is older is read, because the law of a release may depend on it, and not estimated.

    `promise` is for topics that hold none: the output of `fugu explain --json`, a file of it, or a
    `Promise`. `files` names models that the promise does not hold. `kafka` holds more of the
    section `kafka` of a pipeline file, such as `security`.
    """
    paths = {name: Path(path) for name, path in (files or {}).items()}
    given = [] if promise is None else [believed(given_promise(promise), paths)]
    whole: Callable[[], pa.Table] | None = None
    moment = None if since is None else milliseconds_since(since, datetime.now(UTC))
    match source:
        case str() if "://" in source:
            records, promises, begins = _read_kafka(source, kafka or {}, given, paths)
        case str() | os.PathLike():
            place = Path(source)
            records, promises, begins = read_files(place, _NOT_ESTIMATED)
            whole = partial(_whole, place)
            promises = given or [believed(one, paths) for one in promises]
        case _:
            promises, begins = given, {}
            if not promises:
                raise CannotBeEstimated(f"records of a consumer come without a promise: {_HOW}")
            arrived = collected_records(records_of(source))
            records = pa.Table.from_batches(arrived, COLLECTED)
            records = decoded_records(records, promises)
    if not promises:
        raise CannotBeEstimated(f"{source} holds no promise that this version can read: {_HOW}")
    return Topic(records, promises, begins, moment, paths, whole)


def _whole(place: Path) -> pa.Table:
    return read_files(place)[0]


def given_promise(given: Given) -> Promise:
    """Return a promise that the reader brings along."""
    if isinstance(given, Promise):
        return given
    if isinstance(given, Mapping):
        content = orjson.dumps(dict(given))
    else:
        try:
            content = Path(given).read_bytes()
        except OSError as error:
            raise CannotBeEstimated(f"promise: {given} cannot be read ({error.strerror})") from None
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError:
        document = None
    inner = document.get("promise", document) if isinstance(document, dict) else None
    found = Promise.read(orjson.dumps(inner))
    if found is None:
        raise CannotBeEstimated("promise: is not what fugu explain PIPELINE --json prints")
    return found


def milliseconds_since(since: str, now: datetime) -> int:
    """Return the moment that `since` means: a length of time before `now`, or a date.

    >>> milliseconds_since("1970-01-02", datetime.now(UTC))
    86400000
    """
    try:
        moment = datetime.fromisoformat(since)
    except ValueError:
        return int(now.timestamp() * 1000) - width_of(since)
    return int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1000)


def decoded_records(collected: pa.Table, promises: Sequence[Promise]) -> pa.Table:
    """Return one row for each release, in the order of partitions and offsets.

    Records that none of the promises is about are refused: they would be read by another law than
    the one they were drawn from. A release that is there twice is left out once.
    """
    collected = once_each(collected)
    laws = laws_of(collected, promises)
    parts = []
    for number, promise in enumerate(promises):
        own = collected.filter(pa.array(laws == number)) if len(promises) > 1 else collected
        if not len(own) and number + 1 < len(promises):
            continue
        table = decoded(unwrapped(own["content"], promise.sink.form), promise)
        users = own["user"].cast(pa.string()).dictionary_encode()
        release = own["release"].cast(pa.string())
        columns: dict[str, Any] = {"user": users, "time": own["time"]}
        columns |= {name: _encoded(table[name]) for name in table.column_names}
        columns |= {"release": release, "partition": own["partition"], "offset": own["offset"]}
        columns["law"] = pa.array(np.full(len(own), number, dtype=np.int32))
        parts.append(pa.table(columns))
    return pa.concat_tables(parts, promote_options="default")


def _encoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts as a dictionary: there are few different ones."""
    return column.dictionary_encode() if pa.types.is_string(column.type) else column


def once_each(collected: pa.Table) -> pa.Table:
    """Leave out what is there twice: names of releases are compared, the first one stays."""
    release = collected["release"].combine_chunks()
    if release.null_count:
        raise CannotBeEstimated(
            "a record has no header fugu-release; is this a topic that Fugu has written?"
        )
    ends = np.frombuffer(release.buffers()[1], dtype=np.int32)[release.offset :][: len(release) + 1]
    lengths = np.diff(ends)
    if len(release) < 2:
        return collected
    if lengths.min() < 32 or lengths.max() != lengths.min():
        first = pc.index_in(release, value_set=pc.unique(release)).to_numpy()
        _, kept = np.unique(first, return_index=True)
    else:
        text = np.frombuffer(release.buffers()[2], dtype=np.uint8)[ends[0] : ends[-1]]
        names = np.ascontiguousarray(text.reshape(len(release), -1)).view(np.uint64)
        order = np.lexsort((np.arange(len(names)), *names.T))
        same = (names[order][1:] == names[order][:-1]).all(axis=1)
        kept = np.sort(order[np.concatenate([[True], ~same])])
    return collected if len(kept) == len(collected) else collected.take(pa.array(kept))


def laws_of(collected: pa.Table, promises: Sequence[Promise]) -> np.ndarray[Any, Any]:
    """Return the number of the promise that each record was released under: the last one that
    begins before it; `CannotBeEstimated` for a record whose header names none."""
    partitions = collected["partition"].to_numpy()
    offsets = collected["offset"].to_numpy()
    laws = np.full(len(collected), -1, dtype=np.int64)
    for number, promise in enumerate(promises):
        named = pc.equal(collected["promise"], promise.guarantee_id.encode()).to_numpy()
        begun = np.ones(len(laws), dtype=bool)
        for partition, begin in promise.begins.items():
            begun &= (partitions != int(partition)) | (offsets >= begin)
        laws[named & begun] = number
    unknown = np.flatnonzero(laws < 0)
    if len(unknown):
        raise CannotBeEstimated(
            f"{len(unknown):,} of {len(laws):,} records were released under a promise that is not "
            f"known, the first one in partition {partitions[unknown[0]]} at offset "
            f"{offsets[unknown[0]]}: {_HOW}, with the file that they were released with"
        )
    return laws


def _read_kafka(
    address: str, more: Mapping[str, Any], given: list[Promise], files: Mapping[str, Path]
) -> tuple[pa.Table, list[Promise], dict[int, int]]:
    place = urlsplit(address)
    name = place.path.strip("/")
    if place.scheme != "kafka" or not place.netloc or not name or "/" in name:
        raise CannotBeEstimated(f"write kafka://HOST:PORT/TOPIC, not {address}")
    try:
        from fugu.dataflows.kafka.clients import client_of
    except ModuleNotFoundError as error:
        if error.name != "kafka":
            raise
        raise ModuleNotFoundError(
            f"reading kafka:// needs a Kafka client: {install('kafka')}", name="kafka"
        ) from None

    kafka = Kafka.model_validate({"bootstrap": place.netloc, **more})
    connection = kafka.connection(lambda name: Path(name).expanduser().resolve(), timedelta(0))
    client = client_of(connection)
    topic = client.topic(name)
    if topic is None:
        raise KafkaUnavailable(f"topic {name} does not exist at {place.netloc}")
    promises = given or kafka_promises(client, name, topic.identity, files)
    if not promises:
        raise CannotBeEstimated(
            f"topic {promises_topic(name)} holds no promise about {name} that this version can "
            f"read: {_HOW}"
        )
    with closing(client.reader(name)) as reader:
        bounds = reader.bounds(list(range(topic.partitions)))
    collected = pa.Table.from_batches(collected_range(client, topic, bounds), COLLECTED)
    return decoded_records(collected, promises), promises, first_offsets(bounds)


def first_offsets(bounds: Mapping[int, Bounds]) -> dict[int, int]:
    """Return where partitions begin that hold anything or ever did."""
    return {partition: bound.start for partition, bound in bounds.items()}


def kafka_promises(
    client: Client, sink: str, identity: str, files: Mapping[str, Path] | None = None
) -> list[Promise]:
    """Return the promises beside a topic, of the topic that has this id now.

    A warning says which of them are not believed.
    """
    beside = client.topic(promises_topic(sink))
    if beside is None:
        return []
    found = list[Promise]()
    for one in read_promises(client, beside):
        if one.sink.identity in ("", identity):
            try:
                found.append(believed(one, files))
            except ConfigurationError as error:
                warn(visible(f"topic {beside.name}: {error}"), PromiseAlarm, stacklevel=2)
    return in_order(found)


def believed(promise: Promise, files: Mapping[str, Path] | None = None) -> Promise:
    """Return a promise as its law says it; a warning says where it says something else."""
    found, problem = checked_promise(promise, files)
    if problem is not None:
        warn(visible(problem), PromiseAlarm, stacklevel=2)
    return found
