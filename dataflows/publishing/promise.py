"""State what a pipeline promises, how its releases were made, and keep it beside the sink.

A promise holds the guarantees with their text, and the declared operator with the contents of the
files that it names, from which a reader builds the law of the releases again. It holds no secret,
no state, no path, and nothing that Fugu reads from a record. But files are published as they are: a
model that was counted from the private topic says which transitions are there, and how often.
`sink.promise: without_files` keeps them back.
"""

import logging
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal, Self, cast

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from fugu.dataflows.base.errors import (
    ConfigurationError,
    DeliveryFailed,
    FuguError,
    KafkaUnavailable,
    OtherVersion,
)
from fugu.dataflows.base.field_paths import released_name
from fugu.dataflows.base.printable import visible
from fugu.dataflows.base.section import NO_FILES, described_schema
from fugu.dataflows.kafka.client import Client, Topic
from fugu.dataflows.kinds import Operator, OperatorSection
from fugu.dataflows.kinds.families.section import Noise
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.guarantee_data import guarantee_data, guarantee_id
from fugu.dataflows.pipeline.guarantee_text import in_words, pipeline_not_covered
from fugu.dataflows.pipeline.mechanisms import schema_of_releases
from fugu.dataflows.pipeline.policy_changes import policies_relied_on
from fugu.dataflows.pipeline.sections import Budget
from fugu.dataflows.pipeline.topics import bounds_of
from fugu.dataflows.publishing.ledger_topic import newest_values, write_record
from fugu.dataflows.records.registered import SchemaKind
from fugu.dataflows.records.values import ReleasedAs
from fugu.operators.budget import Budgeted, without_budget
from fugu.operators.mechanism import ChargingMechanism, Mechanism
from fugu.operators.multi_step import IndependentReleases

LARGEST_FILE = 512 * 1024
"""Compressed contents of more bytes do not fit a Kafka message beside the rest."""
LARGEST_CONTENT = 64 * 1024 * 1024
"""No more bytes are unpacked, whatever a promise of others says."""


class Part(BaseModel):
    """Ignore keys of later versions, so that an older reader goes on."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class PromisedFile(Part):
    """Hold a file that the operator names."""

    bytes: int
    """The length of the file."""
    content: str | None
    """The file, compressed by zlib and written in base64; null where it is too large, or where the
    pipeline keeps it back (`sink.promise`)."""


def promised_file(path: Path, *, held: bool) -> PromisedFile:
    content = path.read_bytes()
    packed = zlib.compress(content, 9) if held and len(content) <= LARGEST_CONTENT else None
    if packed is None or len(packed) > LARGEST_FILE:
        return PromisedFile(bytes=len(content), content=None)
    return PromisedFile(bytes=len(content), content=b64encode(packed).decode())


class NamedFiles:
    """Find files as a pipeline file does, and note which ones are asked for.

    `found` has them by names without directories, which are nobody's business.
    """

    def __init__(self, file: PipelineFile) -> None:
        self.found: dict[str, Path] = {}
        self._file = file
        self._names: dict[str, str] = {}

    def resolve(self, relative: str) -> Path:
        """Return the path of a file that the section names."""
        path = self._file.resolve(relative)
        if relative not in self._names:
            name, number = path.name, 1
            while name in self.found:
                number += 1
                name = f"{number}-{path.name}"
            self._names[relative], self.found[name] = name, path
        return path

    def without_directories(self, declared: Any) -> Any:
        """Return the section with the names of files instead of their paths."""
        match declared:
            case str():
                return self._names.get(declared, declared)
            case dict():
                return {name: self.without_directories(one) for name, one in declared.items()}
            case list():
                return [self.without_directories(one) for one in declared]
            case _:
                return declared


class GivenFiles:
    """Find files in a promise, or among those that the reader gives."""

    def __init__(
        self, files: Mapping[str, PromisedFile], given: Mapping[str, Path], folder: Path
    ) -> None:
        self._files, self._given, self._folder = files, given, folder

    def resolve(self, relative: str) -> Path:
        """Return the path of a file that the section names, written where it can be read."""
        if relative in self._given:
            return self._given[relative]
        held = self._files.get(relative)
        if held is None or held.content is None:
            raise ConfigurationError(
                f"the promise does not hold the file {relative}: it is too large for it, or the "
                f"pipeline keeps it back (sink.promise). Give it as files={{{relative!r}: PATH}}"
            )
        path = self._folder / str(len(list(self._folder.iterdir())))
        path.write_bytes(_unpacked(relative, held.content))
        return path


def _unpacked(name: str, content: str) -> bytes:
    """Return the contents of a file; others may have written them."""
    unpacking = zlib.decompressobj()
    try:
        unpacked = unpacking.decompress(b64decode(content), LARGEST_CONTENT + 1)
    except (ValueError, zlib.error):
        raise ConfigurationError(f"the promise holds a file {name} that is damaged") from None
    if len(unpacked) > LARGEST_CONTENT:
        raise ConfigurationError(
            f"the promise holds a file {name} of more than {LARGEST_CONTENT:,} bytes, which no "
            f"version of Fugu writes. Give your own as files={{{name!r}: PATH}}"
        )
    return unpacked


FORMAT: Final = 1
_OPERATORS: TypeAdapter[OperatorSection] = TypeAdapter(Operator)


class PromisedForm(Part):
    """Say by what schema releases are written."""

    kind: SchemaKind
    """Avro, JSON, or Protocol Buffers, behind the id of the schema in its registry."""
    schema_text: str
    """The schema, as the registry has it."""


class PromisedSink(Part):
    """Name the sanitized topic."""

    topic: str
    """The sanitized topic."""
    identity: str
    """Its topic id, empty where nobody has looked; a topic that is created anew has another."""
    key: Literal["pseudonym", "original", "none"]
    """The key of a release."""
    form: PromisedForm | None = None
    """The schema of releases; null where they are JSON alone."""


class PromisedLaw(Part):
    """Name the law that releases are drawn from."""

    kind: str
    """The kind of operator."""
    implementation: int
    """The version of its implementation."""
    version: int
    """The version of the configuration, as the pipeline file counts them."""
    digest: str
    """A digest of everything that the law depends on, in hexadecimal."""


class Promise(Part):
    """Hold everything that a reader of a sanitized topic needs."""

    format: Literal[1] = FORMAT
    """The version of this document, which goes up when a field changes its meaning."""
    document: Literal["fugu-promise"] = "fugu-promise"
    """Tells it from other documents."""
    pipeline: str
    """The name of the pipeline."""
    sink: PromisedSink
    """The topic that it releases to."""
    begins: dict[str, int] = Field(default_factory=dict)
    """The first offset that the promise is about, by partition; 0 for those that are not named."""
    guarantee_id: str
    """The short id that the header fugu-guarantee of every release carries."""
    guarantees: list[dict[str, Any]]
    """The guarantees as data: notion, epsilon, delta, per what, what is not covered."""
    text: str
    """The same in words."""
    not_covered_by_the_pipeline: list[str]
    """Sentences about what the pipeline around the mechanism leaves open."""
    relied_on_by_the_pipeline: list[str]
    """Sentences about what the pipeline around the mechanism relies on."""
    law: PromisedLaw
    """The law that releases are drawn from."""
    fields: list[str]
    """The fields of a record that values are read from, and that a release may show."""
    released_as: ReleasedAs
    """The form in which a release shows its value."""
    depends_on_the_past: bool
    """True if the law of a release depends on the releases of its stream before it."""
    noise: Noise | None
    """The law of the noise in figures that carry a standard error; null where there are none."""
    operator: dict[str, Any]
    """The operator as the pipeline file declares it, without what only says who moves time."""
    rebuildable: bool
    """True if `operator` and `files` suffice to build the law again."""
    files: dict[str, PromisedFile]
    """The files that the operator names, by their names without a directory."""
    budget: dict[str, Any] | None
    """The budget of a stream, as the pipeline file declares it."""
    estimator: dict[str, float]
    """Numbers of the law that estimates are made with, by their names."""

    @property
    def not_covered(self) -> list[str]:
        """Return what is left open, by the mechanism and by the pipeline around it."""
        points = [point for one in self.guarantees for point in one.get("not_covered", [])]
        sentences = [str(point["sentence"]) for point in points]
        return list(dict.fromkeys([*sentences, *self.not_covered_by_the_pipeline]))

    def __str__(self) -> str:
        """Write the promise in words, and what it does not cover."""
        listed = "\n".join(["Not covered:", *(f"- {point}" for point in self.not_covered)])
        return visible(f"{self.text}\n\n{listed}")

    def __repr__(self) -> str:
        """Write the same below a line that names it."""
        return visible(
            f"<Promise {self.guarantee_id} of {self.pipeline} ({self.law.kind})>\n{self}"
        )

    @property
    def key(self) -> bytes:
        """Return the key in the topic of promises: a law has a record each time that it begins."""
        return orjson.dumps([*self._about, self.begins])

    def value(self) -> bytes:
        """Return everything, as JSON."""
        return orjson.dumps(self.model_dump(mode="json"))

    def says_the_same(self, other: "Promise") -> bool:
        """Return whether another promise is about releases of the same law in the same topic."""
        return (self._about, self.sink) == (other._about, other.sink)

    @property
    def _about(self) -> list[str]:
        return [self.pipeline, self.guarantee_id, self.law.digest]

    @classmethod
    def read(cls, content: bytes) -> Self | None:
        """Return the promise in a record; None where it is none.

        Raises `OtherVersion` where another version of Fugu wrote it.
        """
        try:
            match orjson.loads(content):
                case {"document": "fugu-promise", "format": int(other)} if other != FORMAT:
                    raise OtherVersion("the promise", other, FORMAT)
                case dict(found):
                    return cls.model_validate(found)
            return None
        except (orjson.JSONDecodeError, ValidationError):
            return None

    def section(self) -> OperatorSection:
        """Return the declared operator; `ConfigurationError` where the promise does not hold it."""
        if not self.rebuildable:
            raise ConfigurationError(
                f"the promise of {self.pipeline} does not hold all that its law is made of "
                f"({self.law.kind}): read figures with the standard errors that they carry"
            )
        try:
            return _OPERATORS.validate_json(orjson.dumps(self.operator), context=NO_FILES)
        except ValidationError as error:
            raise ConfigurationError(
                f"the promise of {self.pipeline} declares an operator that this version of Fugu "
                f"does not know: {error.errors()[0]['msg']}. Read the topic with the version that "
                "released it"
            ) from None

    def mechanism(self, given: Mapping[str, Path] | None = None) -> Mechanism:
        """Build the law again, and check that it is the one that releases were drawn from.

        `given` are files that the promise does not hold, by the names it has for them.
        """
        section = self.section()
        try:
            mechanism = self._built(section, given or {})
            digest = mechanism.law_digest().hex()
        except FuguError:
            raise
        except Exception as error:  # others may have written it, and thought of what we did not
            raise ConfigurationError(
                f"the promise of {self.pipeline} declares a law that cannot be built "
                f"({self.law.kind}: {type(error).__name__}). No version of Fugu writes such a one"
            ) from None
        if digest != self.law.digest:
            raise ConfigurationError(
                f"the law that the promise of {self.pipeline} declares is not the one that its "
                f"releases were drawn from: {self.law.kind}, implementation "
                f"{self.law.implementation}, while this version of Fugu has "
                f"{mechanism.implementation}. Read the topic with the version that released it"
            )
        return mechanism

    def _built(self, section: OperatorSection, given: Mapping[str, Path]) -> Mechanism:
        with TemporaryDirectory() as folder:
            mechanism = section.mechanism(GivenFiles(self.files, given, Path(folder)))
        if self.budget is None:
            return mechanism
        budget = Budget.model_validate(self.budget)
        charging = cast(ChargingMechanism, mechanism)
        return Budgeted(charging, float(budget.total), budget.window, budget.when_exhausted)


def promise_of(file: PipelineFile, mechanism: Mechanism, identity: str = "") -> Promise:
    """Return what a pipeline promises; `identity` is the topic id of its sink."""
    pipeline, guarantees = file.pipeline, mechanism.guarantees()
    operator = pipeline.operator
    named = NamedFiles(file)
    if operator.published_whole:
        operator.mechanism(named)
    held = pipeline.sink.promise == "whole"
    files = {name: promised_file(path, held=held) for name, path in sorted(named.found.items())}
    budget, sink, values = pipeline.budget, pipeline.sink, operator.values(pipeline.source.fields)
    schema = schema_of_releases(pipeline, values)
    form = None
    if schema is not None:
        form = PromisedForm(kind=schema.kind, schema_text=schema.text.text)
    return Promise(
        pipeline=pipeline.name,
        sink=PromisedSink(topic=sink.topic, identity=identity, key=sink.key, form=form),
        guarantee_id=guarantee_id(guarantees).decode(),
        guarantees=[orjson.loads(orjson.dumps(guarantee_data(one))) for one in guarantees],
        text="\n\n".join(in_words(one) for one in guarantees),
        not_covered_by_the_pipeline=pipeline_not_covered(pipeline),
        relied_on_by_the_pipeline=policies_relied_on(pipeline),
        law=PromisedLaw(
            kind=mechanism.kind,
            implementation=mechanism.implementation,
            version=pipeline.version,
            digest=mechanism.law_digest().hex(),
        ),
        fields=list(map(released_name, pipeline.source.fields)),
        released_as=values.released_as,
        depends_on_the_past=depends_on_the_past(mechanism),
        noise=operator.noise,
        operator=named.without_directories(operator.published()),
        rebuildable=operator.published_whole,
        files=files,
        budget=None if budget is None else budget.model_dump(mode="json"),
        estimator=dict(operator.estimator(without_budget(mechanism))),
    )


def depends_on_the_past(mechanism: Mechanism) -> bool:
    """Return whether the law of a release depends on earlier releases of its stream."""
    return not isinstance(without_budget(mechanism), IndependentReleases)


def promise_schema() -> dict[str, Any]:
    """Return the JSON Schema of a promise."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **described_schema(Promise, mode="serialization"),
    }


log = logging.getLogger(__name__)

_SETTINGS = {"cleanup.policy": "compact", "message.timestamp.type": "CreateTime"}


def promises_topic(sink: str) -> str:
    """Return the name of the topic that holds the promises of a sanitized topic.

    >>> promises_topic("vitals.sanitized")
    'vitals.sanitized.promises'
    """
    return f"{sink}.promises"


def publish_promise(client: Client, file: PipelineFile, mechanism: Mechanism, sink: Topic) -> None:
    """Write the promise of a pipeline, unless it is there.

    Whoever reads the sanitized topic finds there how to read it. A promise is written before the
    first record is released under it. It is written once; a start that finds it there writes
    nothing, unless it is to hold other files: compaction then removes the one before.

    It holds from the end of the sink on if releases under another one are there, else from the
    beginning. Without a topic for it, a warning says what readers then need.
    """
    if file.pipeline.sink.promise == "none":
        return
    name = promises_topic(sink.name)
    try:
        problem = _publish(client, file, mechanism, sink)
    except (KafkaUnavailable, DeliveryFailed) as error:
        problem = f"cannot be used ({error})"
    if problem is not None:
        log.warning(
            "topic %s %s, so the promise is not published and readers of %s have to be given it "
            "(fugu explain --json). Create it with 1 partition and cleanup.policy=compact, and "
            "grant Describe, DescribeConfigs, Read and Write on it, or write sink.promise: none",
            name,
            problem,
            sink.name,
        )


def _publish(client: Client, file: PipelineFile, mechanism: Mechanism, sink: Topic) -> str | None:
    """Write the promise, or return what keeps the topic from being used."""
    name = promises_topic(sink.name)
    topic = client.topic(name)
    if topic is None and file.pipeline.sink.create:
        client.create_topic(name, 1, _SETTINGS)
        topic = client.topic(name)
    if topic is None:
        return "does not exist"
    policy = (topic.settings or _SETTINGS).get("cleanup.policy")
    if policy != "compact":
        return f"has cleanup.policy={policy}"
    promise = promise_of(file, mechanism, sink.identity)
    known = [one for one in read_promises(client, topic) if one.sink.identity == sink.identity]
    same = bool(known) and known[-1].says_the_same(promise)
    if same:
        if known[-1].files == promise.files:
            return None
        promise = promise.model_copy(update={"begins": known[-1].begins})
    elif known:
        bounds = bounds_of(client, sink, list(range(sink.partitions)))
        begins = {str(partition): bound.end for partition, bound in bounds.items()}
        promise = promise.model_copy(update={"begins": begins})
    write_record(client, topic, promise.key, promise.value())
    return None


def read_promises(client: Client, topic: Topic) -> list[Promise]:
    """Return all promises of a topic, by where they begin.

    Raises `OtherVersion` where another version of Fugu wrote one.
    """
    found = (Promise.read(value or b"") for value in newest_values(client, topic).values())
    return in_order(one for one in found if one is not None)


def in_order(promises: Iterable[Promise]) -> list[Promise]:
    """Return promises by where they begin."""
    return sorted(promises, key=lambda one: (sum(one.begins.values()), one.key))
