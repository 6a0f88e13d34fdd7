"""Schemas of releases hold whatever a kind releases, and writing by them loses nothing."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
import orjson
import pytest
from fastavro import parse_schema, schemaless_reader
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from fugu.dataflows.files.proto_compiler import descriptors_of
from fugu.dataflows.records.json_fields import UnusableSchema
from fugu.dataflows.records.numbers import Numbers
from fugu.dataflows.records.payloads import Payloads
from fugu.dataflows.records.registered import SchemaKind
from fugu.dataflows.records.release_schema import release_schema
from fugu.dataflows.records.series import Series
from fugu.dataflows.records.symbols import (
    HadamardHalves,
    PlainSymbols,
    SymbolBatches,
    SymbolReports,
    Symbols,
    SymbolSets,
)
from fugu.dataflows.records.values import Domain
from fugu.operators.mechanism import Releases
from tests.json_schema import problems

PAGE = Path(__file__).parents[3] / "docs" / "formats.md"
ZONES = ["rest", "light", "vigorous"]
HALVES = HadamardHalves("zone", ZONES)
KINDS = np.array([0, 1])
BITS = np.array([[True, False, True], [False, False, False]])
KNOWN = {"confidence": np.array([0.25, np.nan])}
SAID = {
    "published": np.array([True, False]),
    "standard_error": np.array([0.5, np.nan]),
    "spent_rho": np.array([0.1, 0.2]),
    "remaining_rho": np.array([0.2, 0.0]),
    "budget_exhausted": np.array([False, True]),
}
WRITTEN: list[tuple[Domain, Releases]] = [
    (Symbols("data.zone", ZONES), Releases(np.array([0, 2]), KNOWN, KINDS)),
    (Symbols("zone", [-300, -1, 0]), Releases(np.array([0, 2]), KNOWN, KINDS)),
    (PlainSymbols("zone", ZONES), Releases(np.array([0, 2]), {}, KINDS)),
    (SymbolBatches("zone", ZONES), Releases(np.array([[0, 1], [2, -1]]), KNOWN)),
    (SymbolSets("zone", ZONES), Releases(BITS, {}, KINDS)),
    (SymbolReports("zone", ZONES), Releases(BITS, {"epsilon": np.array([0.5, 1.0])}, KINDS)),
    (HALVES, Releases(HALVES.response.decoded(np.array([1, 2]), np.array([0, 1])), {}, KINDS)),
    (Numbers("watts", units_per_one=100), Releases(np.array([0.0, -3.25]), {}, KINDS)),
    (Series("watts", units_per_one=1, whole=False), Releases(np.array([1.25, -3.0]), SAID)),
]
NAMES = [type(domain).__name__ for domain, _ in WRITTEN]


@pytest.mark.parametrize(("domain", "releases"), WRITTEN, ids=NAMES)
def test_avro_of_a_release_holds_what_its_json_says(domain: Domain, releases: Releases) -> None:
    schema = release_schema("avro", domain)
    write, parsed = schema.writer(), parse_schema(orjson.loads(schema.text.text))
    assert write is not None
    for content in domain.write(releases):
        release: Any = schemaless_reader(io.BytesIO(write(content)), parsed, None)
        absent = {one.name: one.default for one in schema.shown}
        assert release == absent | orjson.loads(content)


@pytest.fixture(scope="module")
def messages() -> Mapping[str, type[Message]]:
    """The message of each text that releases have here, all of them compiled at once."""
    texts = {release_schema("protobuf", domain).text.text for domain, _ in WRITTEN}
    names = {text: f"Release{number}" for number, text in enumerate(sorted(texts))}
    bodies = [text[text.index("message") :].replace("Release", names[text]) for text in names]
    pool = DescriptorPool()
    [file] = FileDescriptorSet.FromString(
        descriptors_of('syntax = "proto3"; package fugu;' + "".join(bodies), {})
    ).file
    pool.Add(file)
    return {
        text: GetMessageClass(pool.FindMessageTypeByName(f"fugu.{name}"))
        for text, name in names.items()
    }


def held(message: Any) -> dict[str, object]:
    """Return what a reader of a message finds in its fields; null where one is left out."""
    found = dict[str, object]()
    for one in message.DESCRIPTOR.fields:
        value: Any = getattr(message, one.name)
        if one.has_presence and not message.HasField(one.name):
            value = None
        found[one.name] = list(value) if one.is_repeated else value
    return found


@pytest.mark.parametrize(("domain", "releases"), WRITTEN, ids=NAMES)
def test_a_message_of_a_release_holds_what_its_json_says(
    domain: Domain, releases: Releases, messages: Mapping[str, type[Message]]
) -> None:
    schema = release_schema("protobuf", domain)
    write = schema.writer()
    assert write is not None
    for content in domain.write(releases):
        place, written = write(content)[:1], write(content)[1:]
        message = messages[schema.text.text].FromString(written)
        assert place == b"\0"
        absent = {one.name: one.default for one in schema.shown}
        assert held(message) == absent | orjson.loads(content)
        assert message.SerializeToString(deterministic=True) == written


def test_a_field_without_a_value_is_never_written_as_0() -> None:
    write = release_schema("protobuf", Symbols("zone", ZONES)).writer()
    assert write is not None
    with pytest.raises(ValueError, match="zone is missing"):
        write(b'{"zone":null,"confidence":0.5}')


@pytest.mark.parametrize("kind", get_args(SchemaKind))
def test_symbols_that_no_schema_can_hold_are_refused(kind: SchemaKind) -> None:
    with pytest.raises(UnusableSchema, match="64 bits"):
        release_schema(kind, Symbols("zone", [1, 2**63]))


@pytest.mark.parametrize(("domain", "releases"), WRITTEN, ids=NAMES)
def test_a_release_is_valid_by_its_json_schema(domain: Domain, releases: Releases) -> None:
    schema = orjson.loads(release_schema("json_schema", domain).text.text)
    for content in domain.write(releases):
        assert not list(problems(orjson.loads(content), schema, schema))
    assert "canary is unknown" in list(problems({"canary": 1}, schema, schema))


@pytest.mark.parametrize("kind", get_args(SchemaKind))
def test_a_schema_does_not_depend_on_the_alphabet(kind: SchemaKind) -> None:
    few, many = Symbols("zone", ZONES[:2]), PlainSymbols("zone", ZONES)
    assert release_schema(kind, few).text == release_schema(kind, many).text


def test_the_message_of_the_page_is_that_of_a_symbol() -> None:
    text = release_schema("protobuf", Symbols("zone", ZONES)).text.text
    head, message = text.split("\n\n")
    assert head == 'syntax = "proto3";\npackage fugu;'
    assert f"```proto\n{message}```" in PAGE.read_text()


@pytest.mark.parametrize(
    ("kind", "domain", "problem"),
    [
        ("avro", Payloads(["zone"], null="error"), "have no fixed fields"),
        ("avro", Symbols("`odd.name`", ZONES), r"no fields that are called odd.name"),
        ("avro", Symbols("confidence", ZONES), "releases hold confidence already"),
        ("protobuf", Symbols("_zone", ZONES), "no fields that are called _zone"),
        ("protobuf", Symbols("Re_peated", ZONES), "Re_peated and repeated are one name in code"),
    ],
)
def test_releases_without_a_schema_are_refused(
    kind: SchemaKind, domain: Domain, problem: str
) -> None:
    with pytest.raises(UnusableSchema, match=problem):
        release_schema(kind, domain)
