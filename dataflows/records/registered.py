"""Read records whose first bytes name a schema in a registry, as Confluent's serializers do."""

import logging
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from importlib.util import find_spec
from threading import Thread
from typing import ClassVar, Literal, Protocol

import numpy as np
import orjson

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.base.errors import ConfigurationError, is_of_one_record
from fugu.dataflows.base.install import install
from fugu.dataflows.files.proto_compiler import SECONDS, refuse_without_compiler
from fugu.dataflows.records.avro import AvroSchema
from fugu.dataflows.records.json_fields import Refused, UnusableSchema
from fugu.dataflows.records.protobuf import ProtobufSchema

MAGIC = 0
"""The first byte."""
PREFIX_BYTES = 5
LARGEST_ID = 2**31 - 1


def schema_id(content: bytes | None) -> int | None:
    """Return the id of the schema that content begins with; None for what no registry gives."""
    if content is None or len(content) < PREFIX_BYTES or content[0] != MAGIC:
        return None
    number = int.from_bytes(content[1:PREFIX_BYTES], "big")
    return number if number <= LARGEST_ID else None


def prefix_of(number: int) -> bytes:
    """Return what stands in front of content that is written by a schema."""
    return bytes([MAGIC]) + number.to_bytes(PREFIX_BYTES - 1, "big")


def ids_in(contents: Iterable[bytes | None]) -> set[int]:
    """Return the ids of all schemas that some of these begin with."""
    if not isinstance(contents, OptionalByteColumn):
        return {one for content in contents if (one := schema_id(content)) is not None}
    begins = contents.begins[contents.lengths >= PREFIX_BYTES]
    heads = contents.content[begins[:, None] + np.arange(PREFIX_BYTES)].astype(np.int64)
    numbers = np.unique(heads @ 256 ** np.arange(PREFIX_BYTES - 1, -1, -1))
    return set(numbers[numbers <= LARGEST_ID].tolist())  # and MAGIC is 0


log = logging.getLogger(__name__)

SchemaKind = Literal["avro", "json_schema", "protobuf"]
_KINDS = {"avro": "AVRO", "json_schema": "JSON", "protobuf": "PROTOBUF"}
OF_UNKNOWN_SCHEMA = prefix_of(2**32 - 1)
"""Stand for a record whose schema is unknown, whatever the registry says: no id is as large."""


@dataclass(frozen=True)
class SchemaText:
    """Hold a schema as a registry has it, and those that it refers to, by name.

    `problem` says why it is not used, whatever it holds. To prepare it may take so many `seconds`.
    """

    kind: str
    text: str
    references: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    seconds: float = field(default=SECONDS, compare=False)


class Schemas(Protocol):
    """Hold schemas by id."""

    @property
    def url(self) -> str:
        """Return where they are."""
        ...

    @property
    def away_since(self) -> float | None:
        """Return the monotonic moment since when none is told; None while they are."""
        ...

    @property
    def away_because(self) -> str:
        """Return what came in place of the last answer: a status, or the name of an error."""
        ...

    def prepare(self) -> None:
        """Raise `ConfigurationError` where nothing can be asked."""
        ...

    def are_there(self, numbers: Set[int]) -> bool:
        """Return whether all schemas of these ids are known; ask for those that are not."""
        ...

    def text_of(self, number: int) -> SchemaText | None:
        """Return a schema; None where the registry has none of this id."""
        ...

    def newest(self, subject: str) -> SchemaText | None:
        """Return the newest schema of a subject; None where the registry has no such subject."""
        ...


class Wire(Protocol):
    """Read what a record holds from its bytes.

    A dead letter has the id of a schema only where the registry knows it: other bytes may be
    anything.
    """

    @property
    def is_flat(self) -> bool:
        """Return whether `read` returns nothing but fields, by their names or paths."""
        ...

    def read(self, content: bytes) -> object:
        """Return what JSON would hold; `Refused` if content is nothing of this format.

        `orjson.JSONDecodeError` says that orjson refuses the JSON in it.
        """
        ...

    def json_in(self, content: bytes) -> bytes | None:
        """Return the text of JSON in content that is read; None where the format is another."""
        ...

    def prepare(self) -> None:
        """Raise `ConfigurationError` where nothing can be read."""
        ...

    def is_ready(self, contents: Iterable[bytes | None]) -> bool:
        """Return whether these records can be read at once."""
        ...


class RecordSchema(Protocol):
    """Read content of one schema."""

    def read(self, content: bytes) -> object:
        """Return the value, or its fields; `Refused` if content is not as the schema says."""
        ...

    def check(self) -> None:
        """Raise `UnusableSchema` where it cannot hold all fields."""
        ...


@dataclass(frozen=True)
class RawAvro:
    """Read records that are nothing but Avro of one schema."""

    schema: AvroSchema
    is_flat: ClassVar[bool] = False

    def read(self, content: bytes) -> object:
        """Return the value."""
        return self.schema.read(content)

    def json_in(self, content: bytes) -> bytes | None:
        """Return that there is none."""
        return None

    def prepare(self) -> None:
        """Do nothing: the schema is there."""

    def is_ready(self, contents: Iterable[bytes | None]) -> bool:
        """Return that the schema is there."""
        return True


@dataclass(frozen=True)
class Registered:
    """Read records of one kind of schema; each must be able to hold the fields with these names.

    Records in an envelope are read `whole`.
    """

    kind: SchemaKind
    schemas: Schemas
    names: Sequence[str]
    whole: bool = False
    _known: "dict[int, RecordSchema | str]" = field(default_factory=dict)
    """Schemas, or why they are not used."""
    _at_work: list[Thread] = field(default_factory=list)
    """Hold the thread that prepares schemas beside the dataflow."""
    _failed: list[Exception] = field(default_factory=list)
    """Hold the failure of that thread, if it is of no schema, until the dataflow raises it."""

    @property
    def is_flat(self) -> bool:
        """Return whether records are read field by field."""
        return self.kind == "protobuf" and not self.whole

    def _schema(self, number: int) -> "RecordSchema | str | None":
        """Return a schema, or why it is not used; None where the registry has none of this id."""
        known = self._known.get(number)
        if known is None:
            found = self.schemas.text_of(number)
            if found is None:
                return None
            try:
                known = self._compiled(found)
            except UnusableSchema as error:
                known = str(error)
            except Exception as error:  # of whatever kind that nobody foresaw
                if not is_of_one_record(error):
                    raise
                known = f"cannot be prepared ({type(error).__name__})"
            if isinstance(known, str):
                log.warning("schema %d of %s is not used: it %s", number, self.schemas.url, known)
            self._known[number] = known
        return known

    def read(self, content: bytes) -> object:
        """Return the value behind the id of its schema."""
        number = schema_id(content)
        if content == OF_UNKNOWN_SCHEMA:
            raise Refused(Reason.UNKNOWN_SCHEMA)
        if number is None:
            raise Refused(Reason.NO_SCHEMA_ID)
        known = self._schema(number)
        if known is None:
            raise Refused(Reason.UNKNOWN_SCHEMA)
        try:
            if isinstance(known, str):
                raise UnusableSchema(known)
            return known.read(content[PREFIX_BYTES:])
        except UnusableSchema:
            raise Refused(Reason.UNUSABLE_SCHEMA, f"schema {number}") from None
        except Refused as refusal:
            raise Refused(refusal.reason, f"schema {number}") from None

    def json_in(self, content: bytes) -> bytes | None:
        """Return what stands behind the id of its schema."""
        return content[PREFIX_BYTES:] if self.kind == "json_schema" else None

    def prepare(self) -> None:
        """Make the client of the registry, and look for what compiles schemas."""
        self.schemas.prepare()
        if self.kind == "protobuf":
            refuse_without_compiler()
        if self.kind == "avro" and find_spec("fastavro") is None:
            raise ConfigurationError(
                f"source.format: kind: avro needs the extra registry: {install('registry')}"
            )

    def is_ready(self, contents: Iterable[bytes | None]) -> bool:
        """Return whether all their schemas are there; what is not prepared is begun with.

        Raises what keeps any schema from being prepared, such as a full disk.
        """
        if self._failed:
            raise self._failed.pop()
        numbers = ids_in(contents)
        if not self.schemas.are_there(numbers):
            return False
        missing = {one for one in numbers - self._known.keys() if self.schemas.text_of(one)}
        if missing and not any(one.is_alive() for one in self._at_work):
            thread = Thread(target=self._prepare_all, args=(missing,), daemon=True)
            self._at_work[:] = [thread]
            thread.start()
        return not missing

    def _prepare_all(self, numbers: Set[int]) -> None:
        try:
            for number in sorted(numbers):
                self._schema(number)
        except Exception as error:  # which the dataflow raises
            self._failed.append(error)

    def check(self, found: SchemaText) -> None:
        """Raise `UnusableSchema` where records of a schema are not read, or hold not all fields."""
        self._compiled(found).check()

    def _compiled(self, found: SchemaText) -> "RecordSchema":
        if found.problem:
            raise UnusableSchema(found.problem)
        if found.kind != _KINDS[self.kind]:
            kind = found.kind if found.kind in _KINDS.values() else "another"
            raise UnusableSchema(f"is of kind {kind}")
        if self.kind == "json_schema":
            return _AnyJson()
        if self.kind == "protobuf":
            return ProtobufSchema.of(
                found.text, self.names, found.references, self.whole, found.seconds
            )
        try:
            others = {name: orjson.loads(text) for name, text in found.references.items()}
            return AvroSchema.of(orjson.loads(found.text), self.names, others)
        except orjson.JSONDecodeError as error:
            raise UnusableSchema(str(error)) from None


def subject_of(topic: str) -> str:
    """Return the subject of values of a topic, as serializers name it."""
    return f"{topic}-value"


class _AnyJson:
    """Read JSON, whatever its schema says."""

    def read(self, content: bytes) -> object:
        return orjson.loads(content)

    def check(self) -> None:
        """Pass: only records show which fields they hold."""
