"""Payloads come out as the JSON they went in as, or not at all."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.dataflows.stages.displaced.running import pipeline_file
from tests.dataflows.stages.running import Running

FIRST: dict[str, Any] = {"warm_up": "emit", "threshold": 4}
"""Most values leave at once."""


def through(directory: Path, values: list[bytes], **operator: Any) -> Running:
    records = [(b"a", b'{"at": 1, "bpm": ' + value + b"}") for value in values]
    return Running(pipeline_file(directory, {}, FIRST | operator)).feed(records).finish()


def test_values_of_any_kind_come_out_as_they_went_in(tmp_path: Path) -> None:
    values = [b"1.50", b'"\\u00e9\\n"', b"true", b'[1,{"a":[]}]', b"{}", b"-0.1", b'""', b"1e3"]
    values += [b'"1e400"', b'":12345678901234567890123"', b'"c8e429a479c8c292"']
    values += [b"18446744073709551615", b"-9223372036854775808", b"0.30000000000000004"]
    run = through(tmp_path, values * 2)
    assert not run.dead
    out = [orjson.loads(value) for _, value, *_ in run.releases]
    found = [orjson.dumps(release["value"]) for release in out if not release["empty"]]
    assert set(found) == {orjson.dumps(orjson.loads(value)) for value in values}


@pytest.mark.parametrize(
    "value",
    [
        b"18446744073709551616",
        b"-9223372036854775809",
        b"0.1000000000000000000001",
        b"1e400",
        b'{"deep": [1.00000000000000000001]}',
        b"[1,-1.00000000000000000001]",
        b"[\n1.5E-400]",
        b"-2e-400",
        b"[0,1,12345678901234567890123]",
        b"1e-9999999999999999999999",
        b"0e9999999999999999999999",
        b"[" * 600 + b"]" * 600,
    ],
)
def test_what_would_not_come_out_as_it_went_in_is_refused(value: bytes, tmp_path: Path) -> None:
    run = through(tmp_path, [b"1", value, b"2"])
    assert [(offset, name) for offset, _, name in run.dead] == [(1, "bpm")]
    assert run.dead[0][1] in ("outside_domain", "not_finite")


def test_numbers_that_nobody_reads_may_be_anything(tmp_path: Path) -> None:
    content = b'{"at": 1, "serial": 123456789012345678901234567890, "bpm": 70}'
    assert not Running(pipeline_file(tmp_path, {}, FIRST)).feed([(b"a", content)]).dead


def test_a_neighbour_that_is_nested_deeply_stops_nobody(tmp_path: Path) -> None:
    nested = b'{"at": 1, "bpm": 1e1, "other": ' + b"[" * 1010 + b"]" * 1010 + b"}"
    run = Running(pipeline_file(tmp_path, {}, FIRST))
    run.feed([(b"a", nested), (b"a", b'{"at": 1, "bpm": 71}')])
    assert not run.dead


def test_a_null_is_refused_or_no_value(tmp_path: Path) -> None:
    assert through(tmp_path, [b"null"]).dead == [(0, "wrong_type", "bpm")]
    run = through(tmp_path, [b"null"] * 10, when_null="as_none")
    assert not run.dead
    assert {orjson.loads(value)["empty"] for _, value, *_ in run.releases} == {True}


def test_several_fields_are_one_payload_with_one_delay(tmp_path: Path) -> None:
    file = pipeline_file(tmp_path, {"value": ["bpm", "spo2"]}, FIRST | {"when_null": "as_none"})
    record = b'{"at": 1, "bpm": %d, "spo2": %d, "device": "x"}'
    run = Running(file).feed([(b"a", record % (n, -n)) for n in range(20)])
    values = [orjson.loads(value)["value"] for _, value, *_ in run.releases]
    assert all(value is None or value["bpm"] == -value["spo2"] for value in values)
    assert {tuple(value) for value in values if value} == {("bpm", "spo2")}
    half = Running(file).feed([(b"a", b'{"at": 1, "bpm": 7, "spo2": null}')])
    assert half.dead == [(0, "wrong_type", "spo2")]
