"""Schemas of releases hold whatever a kind releases, and writing by them loses nothing."""

import io
from typing import Any

import numpy as np
import orjson
import pytest
from fastavro import parse_schema, schemaless_reader

from fugu.dataflows.records.codec import Domain
from fugu.dataflows.records.hadamard_halves import HadamardHalves
from fugu.dataflows.records.numbers import Numbers
from fugu.dataflows.records.payloads import Payloads
from fugu.dataflows.records.release_schema import release_schema, writer_of
from fugu.dataflows.records.series import Series
from fugu.dataflows.records.symbol_reports import SymbolReports
from fugu.dataflows.records.symbols import PlainSymbols, SymbolBatches, Symbols, SymbolSets
from fugu.dataflows.records.unusable_schema import UnusableSchema
from fugu.operators.mechanism import Releases
from tests.json_schema import problems

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
    (Symbols("zone", [3, -1, 7]), Releases(np.array([0, 2]), KNOWN, KINDS)),
    (PlainSymbols("zone", ZONES), Releases(np.array([0, 2]), {}, KINDS)),
    (SymbolBatches("zone", ZONES), Releases(np.array([[0, 1], [2, -1]]), KNOWN)),
    (SymbolSets("zone", ZONES), Releases(BITS, {}, KINDS)),
    (SymbolReports("zone", ZONES), Releases(BITS, {"epsilon": np.array([0.5, 1.0])}, KINDS)),
    (HALVES, Releases(HALVES.response.decoded(np.array([1, 2]), np.array([0, 1])), {}, KINDS)),
    (Numbers("watts", units_per_one=100), Releases(np.array([1.25, -3.0]), {}, KINDS)),
    (Series("watts", units_per_one=1, whole=False), Releases(np.array([1.25, -3.0]), SAID)),
]
NAMES = [type(domain).__name__ for domain, _ in WRITTEN]


@pytest.mark.parametrize(("domain", "releases"), WRITTEN, ids=NAMES)
def test_avro_of_a_release_holds_what_its_json_says(domain: Domain, releases: Releases) -> None:
    schema = release_schema("avro", domain)
    write, parsed = writer_of(schema.shown), parse_schema(orjson.loads(schema.text.text))
    for content in domain.write(releases):
        release: Any = schemaless_reader(io.BytesIO(write(content)), parsed, None)
        absent = {one.name: one.default for one in schema.shown}
        assert release == absent | orjson.loads(content)


@pytest.mark.parametrize(("domain", "releases"), WRITTEN, ids=NAMES)
def test_a_release_is_valid_by_its_json_schema(domain: Domain, releases: Releases) -> None:
    schema = orjson.loads(release_schema("json_schema", domain).text.text)
    for content in domain.write(releases):
        assert not list(problems(orjson.loads(content), schema, schema))
    assert "canary is unknown" in list(problems({"canary": 1}, schema, schema))


def test_a_schema_does_not_depend_on_the_alphabet() -> None:
    few, many = Symbols("zone", ZONES[:2]), PlainSymbols("zone", ZONES)
    assert release_schema("avro", few).text == release_schema("avro", many).text


@pytest.mark.parametrize(
    ("domain", "problem"),
    [
        (Payloads(["zone"], null="error"), "have no fixed fields"),
        (Symbols("`odd.name`", ZONES), r"no fields that are called odd.name"),
        (Symbols("confidence", ZONES), "releases hold confidence already"),
    ],
)
def test_releases_without_a_schema_are_refused(domain: Domain, problem: str) -> None:
    with pytest.raises(UnusableSchema, match=problem):
        release_schema("avro", domain)
