"""Paths lead to fields inside of records, and names mean what they meant before."""

import json
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.field_paths import (
    flattened,
    holds,
    is_plain,
    placed,
    released_name,
    steps_of,
    text_of,
)
from fugu.dataflows.pipeline.config import reading_digest
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.mechanism import Releases
from tests.dataflows.pipeline.pipeline_files import PIPELINE, configured, read, read_error
from tests.dataflows.stages.columns import batch_of

names = st.text(alphabet="ab.[]`é 0", min_size=1, max_size=4)
paths = st.lists(names | st.integers(0, 3), max_size=3).flatmap(
    lambda rest: names.map(lambda first: (first, *rest))
)
documents = st.recursive(
    st.none() | st.integers() | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
)


@given(paths)
def test_a_path_is_read_as_it_is_written(steps: tuple[str | int, ...]) -> None:
    assert steps_of(text_of(steps)) == steps


@given(st.dictionaries(names, documents, max_size=3), paths)
def test_a_path_leads_where_its_steps_lead(record: dict[str, object], path: tuple[str]) -> None:
    value: object = record
    try:
        for step in path:
            assert isinstance(value, dict if isinstance(step, str) else list)
            value = value[step]
    except (AssertionError, LookupError):
        assert flattened(record, [text_of(path)]) == {}
    else:
        assert flattened(record, [text_of(path)]) == {text_of(path): value}


@given(paths, documents)
def test_what_is_placed_is_found_again(path: tuple[str | int, ...], value: object) -> None:
    assert flattened(placed({text_of(path): value}), [text_of(path)]) == {text_of(path): value}


def test_several_values_are_placed_in_one_record() -> None:
    record = placed({"data.zone": "rest", "data.at": 1, "list[1]": 2, "list[0].x": 3})
    assert record == {"data": {"zone": "rest", "at": 1}, "list": [{"x": 3}, 2]}


@pytest.mark.parametrize("name", ["zone", "odd-name", "Größe (cm)", "$x", " "])
def test_a_plain_name_is_one_step(name: str) -> None:
    assert (is_plain(name), steps_of(name), released_name(name)) == (True, (name,), name)


@pytest.mark.parametrize(
    "text", [".a", "a.", "a..b", "[0]", "a[-1]", "a[01]", "a[0]b", "a`b`", "`"]
)
def test_what_is_no_path_is_refused_with_what_to_write_instead(text: str, tmp_path: Path) -> None:
    error = read_error(tmp_path, PIPELINE.replace("value: zone", f"value: '{text}'"))
    assert "pipeline.yaml:4" in error
    assert "is no path to a field" in error
    assert f"write `{text.replace('`', '``')}`" in error


def test_a_field_holds_what_is_inside_of_it() -> None:
    assert holds("data", "data.at[0]")
    assert holds("data.at", "data.at")
    assert not holds("data.at", "data.a")


def test_a_path_is_never_taken_for_a_name_with_points(tmp_path: Path) -> None:
    path = PIPELINE.replace("value: zone", "value: odd.name")
    name = PIPELINE.replace("value: zone", "value: '`odd.name`'")
    assert reading_digest(read(tmp_path, path).pipeline) != reading_digest(
        read(tmp_path, name).pipeline
    )


def test_a_nested_field_is_released_under_its_own_name_and_nothing_else_is(tmp_path: Path) -> None:
    nested = PIPELINE.replace("value: zone", "value: data.readings[0].zone")
    made = configured(tmp_path, text=nested)
    record = {"canary": 1, "data": {"readings": [{"zone": "light", "canary": 2}], "zone": "canary"}}
    batch = batch_of([(b"ann", orjson.dumps(record)), (b"ann", b'{"data":{"readings":[]}}')])
    decoded = made.codec.decode(batch)
    assert decoded.values.tolist() == [1]
    assert (decoded.dead.reasons, decoded.dead.fields) == (
        [Reason.FIELD_MISSING],
        ["data.readings[0].zone"],
    )
    releases = Releases(np.array([1]), {"confidence": np.array([0.5])})
    assert list(made.codec.encode(releases)) == [b'{"zone":"light","confidence":0.5000}']


TEMPORAL = PIPELINE[: PIPELINE.index("operator:")] + (
    "operator: {kind: forward_perturbation, window: 3, epsilon: 2.0, ticks: {width: 1m}}\n"
    + PIPELINE[PIPELINE.index("sink:") :]
)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("value: data\n  timestamp: {field: data.at, format: epoch-s}", "data holds the time"),
        ("value: data\n  dedupe: {field: 'data.id'}", "data holds the name of a record"),
        ("value: [a.x, b.x]", "under the last name of its path"),
        ("value: [a.x, 'a.`x`']", "name every field once"),
    ],
)
def test_a_payload_may_not_hold_what_says_where_it_comes_from(
    source: str, reason: str, tmp_path: Path
) -> None:
    assert reason in read_error(tmp_path, TEMPORAL.replace("value: zone", source))


def test_payloads_of_several_paths_have_the_names_that_are_released(tmp_path: Path) -> None:
    file = read(tmp_path, TEMPORAL.replace("value: zone", "value: [a.x, '`b.y`']"))
    codec = configure(file).codec
    decoded = codec.decode(batch_of([(b"ann", b'{"a":{"x":1,"z":9},"b.y":2,"b":{"y":9}}')]))
    assert [json.loads(one) for one in decoded.values] == [{"x": 1, "b.y": 2}]


def test_a_number_that_would_be_rounded_is_found_inside_of_a_record(tmp_path: Path) -> None:
    file = read(tmp_path, TEMPORAL.replace("value: zone", "value: a.x"))
    content = b'{"a":{"x":0.10000000000000000001},"y":1}'
    decoded = configure(file).codec.decode(batch_of([(b"ann", content)]))
    assert (decoded.dead.reasons, decoded.dead.fields) == ([Reason.OUTSIDE_DOMAIN], ["a.x"])
