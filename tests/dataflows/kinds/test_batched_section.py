"""A pipeline file that asks for batches: what it may say, and what it publishes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from fugu.dataflows.kinds.families import models
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.stages.per_record import PerRecord
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.budget import Budgeted
from fugu.operators.estimates.shares import share_reader
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.distances import HAMMING, Points
from fugu.operators.sip.inputs import Gaps
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.second_order_model import SecondOrderModel
from fugu.operators.sip.sparse_models import SparseMarkovModel
from tests.dataflows.kinds.test_model_step import AT_FIELD, stream
from tests.dataflows.kinds.test_model_step import published as in_time
from tests.dataflows.pipeline.pipeline_files import MODEL, PIPELINE, configured, read, read_error
from tests.dataflows.stages.columns import EVERYBODY, SCOPE, SOURCE, batch_of

CRR = PIPELINE[PIPELINE.index("operator:") : PIPELINE.index("sink:")]
BATCHED = """\
operator:
  kind: batched_crr
  alphabet: [rest, light, vigorous]
  window: 3
  epsilon_per_batch: 3.0
  model: model.json
"""


def pipeline(old: str = "", new: str = "") -> str:
    return PIPELINE.replace(CRR, BATCHED.replace(old, new) if old else BATCHED)


def test_a_pipeline_file_configures_batches(tmp_path: Path) -> None:
    mechanism = configured(tmp_path, text=pipeline()).mechanism
    assert isinstance(mechanism, BatchedRelease)
    assert (mechanism.window, mechanism.epsilon_per_batch) == (3, 3.0)
    assert mechanism.kernel == "linear_program"
    assert mechanism.distance == HAMMING
    placed = "model: model.json\n  distance: {points: [[0], [1], [5]]}\n  kernel: heuristic"
    mechanism = configured(tmp_path, text=pipeline("model: model.json", placed)).mechanism
    assert isinstance(mechanism, BatchedRelease)
    assert isinstance(mechanism.distance, Points)
    assert mechanism.kernel == "heuristic"


def with_rows(tmp_path: Path, more: Sequence[dict[str, Any]] = ()) -> None:
    """Write a model of sparse rows, and `more` of them."""
    rows = [{"from": symbol, "to": {symbol: 0.9}, "uniform": 0.1} for symbol in MODEL["alphabet"]]
    model = MODEL | {"format_version": 2, "transition": [*rows, *more]}
    (tmp_path / "model.json").write_bytes(orjson.dumps(model))


PAIR = {"from": ["rest", "light"], "to": {"vigorous": 1.0}}


def test_few_sparse_rows_are_written_out_and_many_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_rows(tmp_path)
    mechanism = configure(read(tmp_path, pipeline())).mechanism
    assert isinstance(mechanism, BatchedRelease)
    assert isinstance(mechanism.model, MarkovModel)
    monkeypatch.setattr(models, "LARGEST_MATRIX", 2)
    mechanism = configure(read(tmp_path, pipeline())).mechanism
    assert isinstance(mechanism, BatchedRelease)
    assert isinstance(mechanism.model, SparseMarkovModel)


def test_a_model_of_second_order_and_steps_in_time_reach_the_mechanism(tmp_path: Path) -> None:
    with_rows(tmp_path, [PAIR])
    text = pipeline("window: 3", "window: 3\n  step: {length: 60s, longest_gap: 20}")
    mechanism = configure(read(tmp_path, text)).mechanism
    assert isinstance(mechanism, BatchedRelease)
    assert isinstance(mechanism.model, SecondOrderModel)
    assert mechanism.gaps == Gaps(60_000, 20)
    plain = configure(read(tmp_path, pipeline())).mechanism
    assert plain.law_digest() != mechanism.law_digest()
    assert share_reader(plain) is not None
    assert share_reader(mechanism) is None, "a list has the time of its last record alone"


@pytest.mark.parametrize("budget", ["", "budget: {total: 12}\n"])
def test_lists_in_time_are_the_same_bytes_however_records_are_fetched(
    budget: str, tmp_path: Path
) -> None:
    """Between batches of records the state goes through its bytes, as at a kill and a start."""
    with_rows(tmp_path, [PAIR])
    text = pipeline("window: 3", "window: 3\n  step: {length: 60s, longest_gap: 20}") + budget
    timed = text.replace(*AT_FIELD)
    whole = in_time(configure(read(tmp_path, timed)), stream(), batch_size=200)
    for batch_size in (1, 7):
        assert in_time(configure(read(tmp_path, timed)), stream(), batch_size) == whole
    untimed = pipeline().replace(*AT_FIELD) + budget
    assert in_time(configure(read(tmp_path, untimed)), stream(), 200) != whole


def test_a_budget_counts_batches(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_bytes(orjson.dumps(MODEL))
    mechanism = configure(read(tmp_path, pipeline() + "budget:\n  total: 9\n")).mechanism
    assert isinstance(mechanism, Budgeted)
    assert mechanism.audit()["releases that the budget always pays for"] in (2, 3)


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("window: 3", "window: 0", 8, "operator.window: "),
        ("window: 3", "window: 33", 8, "operator.window: "),
        ("  window: 3\n", "", 5, "operator.window: is required; add it"),
        ("epsilon_per_batch: 3.0", "epsilon: 3.0", 5, "operator.epsilon_per_batch: is required"),
        ("epsilon_per_batch: 3.0", "epsilon_per_batch: 51", 9, "at most 50"),
        ("window: 3", "window: 3\n  mode: optimal", 9, "operator.mode: unknown key"),
        ("window: 3", "window: 3\n  other: none", 5, "other must be one of the alphabet"),
        ("window: 3", "window: 3\n  distance: {points: [[0]]}", 9, "operator.distance: "),
    ],
)
def test_an_error_names_the_line_and_what_to_write(
    old: str, new: str, line: int, says: str, tmp_path: Path
) -> None:
    error = read_error(tmp_path, pipeline(old, new))
    assert error.startswith(f"pipeline.yaml:{line}: ")
    assert says in error


def published(tmp_path: Path, batch_size: int) -> list[tuple[int, bytes, bytes]]:
    """Offset, key and value of everything that 40 records of two users become."""
    made = configured(tmp_path, text=pipeline())
    lift = PerRecord(made.mechanism, SCOPE, SOURCE, EVERYBODY)
    table, out = RowTable(lift.start), []
    zones = ["rest", "rest", "light", "vigorous", "vigorous"]
    messages: list[tuple[bytes | None, bytes | None]] = [
        (b"alice" if i % 3 else b"bob", orjson.dumps({"zone": zones[i % 5]})) for i in range(40)
    ]
    for first in range(0, len(messages), batch_size):
        batch = batch_of(messages[first : first + batch_size], first_offset=first)
        sanitized = lift(made.codec.decode(batch), table)
        values = made.codec.encode(sanitized.releases)
        out += list(zip(sanitized.offsets, sanitized.keys, values, strict=True))
    return out


def test_the_last_record_of_a_batch_carries_all_its_symbols(tmp_path: Path) -> None:
    records = published(tmp_path, batch_size=40)
    of_bob = [offset for offset, key, _ in records if key == b"bob"]
    of_alice = [offset for offset, key, _ in records if key == b"alice"]
    assert of_bob == [6, 15, 24, 33]
    assert of_alice == [i for i in range(40) if i % 3][2::3]
    for _, _, value in records:
        record = orjson.loads(value)
        assert list(record) == ["zone", "confidence"]
        assert len(record["zone"]) == 3
        assert set(record["zone"]) <= {"rest", "light", "vigorous"}
        assert 0.0 < record["confidence"] <= 1.0


def test_how_records_are_fetched_never_shows(tmp_path: Path) -> None:
    assert published(tmp_path, batch_size=7) == published(tmp_path, batch_size=40)
