"""Read a sanitized topic: from Kafka, from exported files, or from a consumer that runs."""

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit
from warnings import warn

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from fugu.dataflows.analysis.collected import COLLECTED, collected_range, collected_records
from fugu.dataflows.analysis.decoding import decoded
from fugu.dataflows.analysis.exported import read_files
from fugu.dataflows.analysis.topic import Topic, width_of
from fugu.dataflows.base.errors import CannotBeEstimated, ConfigurationError, KafkaUnavailable
from fugu.dataflows.base.install import install
from fugu.dataflows.base.printable import visible
from fugu.dataflows.kafka.client import Bounds, Client
from fugu.dataflows.kafka.connection import Kafka
from fugu.dataflows.publishing.checked_promise import PromiseAlarm, checked_promise
from fugu.dataflows.publishing.promise import (
    Promise,
    PromisedForm,
    in_order,
    promises_topic,
    read_promises,
)
from fugu.dataflows.records.avro import AvroSchema
from fugu.dataflows.records.json_fields import Refused
from fugu.dataflows.records.protobuf import ProtobufSchema
from fugu.dataflows.records.registered import PREFIX_BYTES, RecordSchema, schema_id

_AT_ONCE = 10_000
_WAIT_MILLISECONDS = 500
_ASSIGNED_SECONDS = 30.0
_QUIET_SECONDS = 5.0
"""Positions of librdkafka stay before the marks of transactions, so an end may never be reached."""


class Consumer(Protocol):
    """Name what consumers of both libraries have in common."""

    def assignment(self) -> Any:
        """Return the partitions that it reads."""


def records_of(source: Any) -> Iterable[Any]:
    """Return the records of a consumer, or of any iterable.

    A consumer of kafka-python never ends by itself, and one of confluent-kafka is no iterable.
    Neither package is imported here.
    """
    if hasattr(source, "get_watermark_offsets"):
        return _arriving(_Librdkafka(source))
    if hasattr(source, "end_offsets"):
        return _arriving(_KafkaPython(source))
    if not isinstance(source, Iterable):
        raise CannotBeEstimated(
            f"{type(source).__name__} is nothing that can be read: give kafka://HOST:PORT/TOPIC, a "
            "Parquet file or a directory of them, a consumer, or an iterable of its records"
        )
    return source


class _KafkaPython:
    """Adapt a consumer of kafka-python."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer

    def poll(self) -> Collection[Any]:
        """Return the next records, or nothing after half a second."""
        found = self._consumer.poll(timeout_ms=_WAIT_MILLISECONDS, max_records=_AT_ONCE)
        return [record for records in found.values() for record in records]

    def ends(self) -> dict[Any, int]:
        """Return where each assigned partition ends now."""
        return dict(self._consumer.end_offsets(list(self._consumer.assignment())))

    def positions(self) -> dict[Any, int]:
        """Return where each assigned partition is read on."""
        return {one: self._consumer.position(one) for one in self._consumer.assignment()}


class _Librdkafka:
    """Adapt a consumer of confluent-kafka."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer

    def poll(self) -> Collection[Any]:
        """Return the next records, or nothing after half a second."""
        found = self._consumer.consume(_AT_ONCE, _WAIT_MILLISECONDS / 1000.0)
        failed = [one.error() for one in found if one.error() is not None]
        for error in failed:
            if error.name() != "_PARTITION_EOF":
                raise CannotBeEstimated(f"the consumer says: {error.str()}")
        return [one for one in found if one.error() is None]

    def ends(self) -> dict[Any, int]:
        """Return where each assigned partition ends now, of those that hold anything."""
        assigned = self._consumer.assignment()
        bounds = {
            (one.topic, one.partition): self._consumer.get_watermark_offsets(one)
            for one in assigned
        }
        return {place: end for place, (begin, end) in bounds.items() if end > begin}

    def positions(self) -> dict[Any, int]:
        """Return where each assigned partition is read on; below 0 where nothing was read."""
        assigned = self._consumer.position(self._consumer.assignment())
        return {(one.topic, one.partition): one.offset for one in assigned}


def _arriving(consumer: _KafkaPython | _Librdkafka) -> Iterator[Any]:
    ends: dict[Any, int] | None = None
    moved = time.monotonic()
    while True:
        found = consumer.poll()
        yield from found
        positions, now = consumer.positions(), time.monotonic()
        moved = now if found else moved
        if ends is None:
            if positions:
                ends = consumer.ends()
            elif now - moved > _ASSIGNED_SECONDS:
                raise CannotBeEstimated(
                    f"the consumer has no partition after {_ASSIGNED_SECONDS:.0f} s: subscribe it "
                    "to the sanitized topic, or assign partitions, before you give it"
                )
        if ends is not None:
            reached = all(positions.get(place, end) >= end for place, end in ends.items())
            if reached or now - moved > _QUIET_SECONDS:
                return


_NEEDED = {"avro": ("fastavro", "registry"), "protobuf": ("grpc_tools", "protobuf")}
"""The package that reads releases of a form, and the extra that brings it."""


def unwrapped(content: pa.ChunkedArray, form: PromisedForm | None) -> pa.ChunkedArray:
    """Return releases as JSON; the promise holds their schema, and no registry is asked."""
    if form is None:
        return content
    if form.kind == "json_schema":
        return pc.binary_replace_slice(content, 0, PREFIX_BYTES, b"")
    schema = _schema_of(form)
    try:
        found = [_as_json(schema, one) for one in content.to_pylist()]
    except Refused:
        raise CannotBeEstimated(
            "a record is not as the schema of its promise says; is the promise that of this topic?"
        ) from None
    return pa.chunked_array([found], content.type)


def _schema_of(form: PromisedForm) -> RecordSchema:
    module, extra = _NEEDED[form.kind]
    if find_spec(module) is None:
        raise ModuleNotFoundError(
            f"reading releases of kind {form.kind} needs {module}: {install(extra)}", name=module
        )
    if form.kind == "protobuf":
        return ProtobufSchema.of(form.schema_text, [], whole=True)
    return AvroSchema.of(orjson.loads(form.schema_text), [])


def _as_json(schema: RecordSchema, content: bytes) -> bytes | None:
    if schema_id(content) is None:
        raise CannotBeEstimated("a record has no id of a schema, and its promise says one")
    return orjson.dumps(schema.read(content[PREFIX_BYTES:]))


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
