"""Hold `fugu.release` and `fugu.sanitize` to what every per-record mechanism must do."""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import bytewax.operators as op
import numpy as np
import pytest
from bytewax.dataflow import Dataflow
from bytewax.errors import BytewaxRuntimeError
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSink, TestingSource, run_main

import fugu
from fugu.mechanisms import PER_RECORD
from fugu.operators.columns import encode_fields
from fugu.operators.mechanism import Inputs, Kind, Mechanism, TimedMechanism
from fugu.operators.randomness import DrawScope
from tests.conformance.example import Example
from tests.conformance.examples import examples_where
from tests.conformance.kinds import KINDS

SECRET = fugu.Secret(bytes(range(32)))
KEYS = ("ada", "bob", "eve")
BATCH = 3
Record = tuple[str, Any]


def needs_time(mechanism: Mechanism) -> bool:
    return isinstance(mechanism, TimedMechanism) and mechanism.tick_milliseconds is not None


def is_per_record(kind: str, example: Example) -> bool:
    return kind in PER_RECORD and not needs_time(example.mechanism)


ALL = {f"{kind}-{i}": (kind, e) for kind in KINDS for i, e in enumerate(KINDS[kind].examples())}
REFUSED = {name: one for name, (kind, one) in ALL.items() if not is_per_record(kind, one)}


@pytest.fixture(
    params=[
        case
        for kind in PER_RECORD
        for case in examples_where(lambda mechanism: not needs_time(mechanism), [kind], in_test=1)
    ]
)
def taken(request: pytest.FixtureRequest) -> Example:
    kind, number = request.param
    example: Example = KINDS[kind].examples()[number]
    return example


@pytest.fixture
def records(taken: Example) -> list[Record]:
    rng = np.random.default_rng(7)
    values = taken.accepted.tolist()
    return [(KEYS[rng.integers(len(KEYS))], values[rng.integers(len(values))]) for _ in range(36)]


def by_key(released: Sequence[tuple[str, fugu.Release]]) -> dict[str, list[fugu.Release]]:
    streams = defaultdict(list)
    for key, release in released:
        streams[key].append(release)
    return {key: [without_nan(one) for one in stream] for key, stream in streams.items()}


def without_nan(release: fugu.Release) -> fugu.Release:
    """With annotations that can be compared."""
    return fugu.Release(release.value, release.kind, {"all": repr(release.annotations)})


def stepped(mechanism: Mechanism, key: str, values: Sequence[Any], name: str) -> list[fugu.Release]:
    """Return what `step` gives for one record after the other, with draws made by hand."""
    own, law = SECRET.derive("fugu-streams-v1"), mechanism.law_digest()
    scope = DrawScope(own, name, mechanism.kind, 1, law)
    state, released = mechanism.start(1), []
    for position, value in enumerate(values):
        draws = scope.draws([key.encode()], [encode_fields(position)])
        inputs = np.empty(1, dtype=object if isinstance(value, bytes | None) else np.int64)
        inputs[0] = value
        state, one = mechanism.step(state, Inputs(inputs), draws)
        kind = Kind.FRESH if one.kinds is None else Kind(one.kinds[0])
        notes = {name: column.tolist()[0] for name, column in one.annotations.items()}
        if kind != Kind.SUPPRESSED:
            released.append(fugu.Release(one.values.tolist()[0], kind, notes))
    return [without_nan(one) for one in released]


def test_releases_are_those_of_single_steps(taken: Example, records: list[Record]) -> None:
    released = by_key(list(fugu.release(taken.mechanism, records, SECRET)))
    for key in KEYS:
        values = [value for other, value in records if other == key]
        assert released.get(key, []) == stepped(taken.mechanism, key, values, "release")


def test_arrays_have_the_releases_of_records(taken: Example, records: list[Record]) -> None:
    keys, values = zip(*records, strict=True)
    arrays = fugu.release_arrays(taken.mechanism, keys, values, SECRET)
    kinds = np.zeros(len(keys)) if arrays.kinds is None else arrays.kinds
    shown = [i for i in range(len(keys)) if kinds[i] != Kind.SUPPRESSED]
    one_by_one = list(fugu.release(taken.mechanism, records, SECRET))
    assert [keys[i] for i in shown] == [key for key, _ in one_by_one]
    assert [arrays.values.tolist()[i] for i in shown] == [one.value for _, one in one_by_one]


def test_order_between_keys_never_shows(taken: Example, records: list[Record]) -> None:
    sorted_by_key = sorted(records, key=lambda record: record[0])
    one = by_key(list(fugu.release(taken.mechanism, records, SECRET)))
    other = by_key(list(fugu.release(taken.mechanism, sorted_by_key, SECRET)))
    assert other == one


@pytest.mark.parametrize("stored", [True, False])
def test_a_dataflow_that_crashed_releases_the_same_again(
    taken: Example, records: list[Record], stored: bool, tmp_path: Path
) -> None:
    """From a snapshot that is a batch old at most, or from the beginning."""
    every = timedelta(0) if stored else timedelta(hours=1)
    init_db_dir(tmp_path, 1)
    items: list[Any] = [*records[:20], TestingSource.ABORT(), *records[20:]]
    before: list[tuple[str, fugu.Release]] = []
    after: list[tuple[str, fugu.Release]] = []
    for out in (before, after):
        flow = Dataflow("zones")
        source = op.input("in", flow, TestingSource(items, batch_size=BATCH))
        op.output("out", fugu.sanitize("grr", source, taken.mechanism, SECRET), TestingSink(out))
        fugu.forget_unfinished_epochs(tmp_path)
        with suppress(BytewaxRuntimeError):
            run_main(flow, epoch_interval=every, recovery_config=RecoveryConfig(str(tmp_path)))
    first, second = by_key(before), by_key(after)
    copies = 0
    for key in KEYS:
        values = [value for other, value in records if other == key]
        whole = stepped(taken.mechanism, key, values, "zones.grr")
        begun, ended = first.get(key, []), second.get(key, [])
        assert begun == whole[: len(begun)]
        assert ended == whole[len(whole) - len(ended) :]
        copies += len(begun) + len(ended) - len(whole)
    assert 0 <= copies <= BATCH if stored else copies == len(before)


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_ticks_or_times_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"write a pipeline file .* use fugu run"):
        fugu.release(REFUSED[name].mechanism, [], SECRET)
