"""A topic becomes columns: values, kinds, no release twice, and a promise for each record."""

import subprocess
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import get_args

import duckdb
import numpy as np
import orjson
import polars
import pyarrow as pa
import pytest

import fugu
from fugu.analysis import CannotBeEstimated, ModelAlarm
from fugu.dataflows.analysis import reading
from fugu.dataflows.analysis.collected import COLLECTED, collected_records
from fugu.dataflows.analysis.reading import decoded_records
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.publishing.promise import Promise, PromisedForm, promise_of
from fugu.dataflows.records.registered import SchemaKind, prefix_of
from fugu.dataflows.records.release_schema import ReleaseSchema, release_schema
from tests.dataflows.analysis.sanitized import (
    BEGIN,
    MINUTE,
    Record,
    sanitized,
    sanitized_figures,
    walks,
)
from tests.dataflows.kinds.example_files import ROOT, example_of

SYMBOLS = ["rest", "light", "moderate", "vigorous"]
KINDS = ["grr", "oue", "lrm", "crr", "adaptive_crr", "cold_start_crr", "pba_ldp", "batched_crr"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::fugu.analysis.ModelAlarm")
def test_shares_of_every_kind_of_symbols_are_estimated_from_the_topic_alone(
    kind: str, tmp_path: Path
) -> None:
    records, promise = sanitized(example_of(kind, tmp_path), walks(4, 120, 6, seed=1, stay=0.8))
    topic = fugu.read(records, promise=orjson.loads(promise.value()))
    shares = topic.shares()
    assert shares.table["symbol"].to_pylist() == SYMBOLS
    assert set(shares.table["users"].to_pylist()) == {120}
    estimates, low, high = (shares.table[name].to_numpy() for name in ("estimate", "low", "high"))
    assert abs(estimates.sum() - 1.0) < 3.0 * np.sqrt(4) * (high - low).max()
    assert (low < estimates).all()
    assert (estimates < high).all()


@pytest.mark.parametrize("kind", [*KINDS, "pim", "budget_absorption_ldp", "sample_ldp"])
@pytest.mark.filterwarnings("ignore::fugu.analysis.ModelAlarm")
def test_users_who_released_the_same_do_not_make_an_estimate_certain(
    kind: str, tmp_path: Path
) -> None:
    records, promise = sanitized(example_of(kind, tmp_path), walks(4, 1, 6, seed=1, stay=0.8))
    alike = [
        replace(
            one,
            key=b"user-%d" % user,
            offset=5 * one.offset + user,
            headers=[("fugu-release", b"%032x" % (5 * one.offset + user)), one.headers[1]],
        )
        for one in records
        for user in range(5)
    ]
    table = fugu.read(alike, promise=promise).shares().table
    widths = table["high"].to_numpy() - table["low"].to_numpy()
    assert set(table["users"].to_pylist()) == {5}
    assert widths.min() > 0.4, "of five users who agree, nobody learns shares to within 20 %"
    topic = fugu.read(alike[::5], promise=promise)
    assert np.isnan(topic.shares().table["low"].to_numpy()).all(), "one user has no bar"


def test_a_promise_says_in_words_and_as_data_what_it_covers_and_what_not(tmp_path: Path) -> None:
    records, promise = sanitized(example_of("crr", tmp_path), walks(4, 5, 2, seed=1))
    topic = fugu.read(records, promise=promise)
    per = {(one["notion"], one["epsilon"], one["per"]) for one in topic.promise.guarantees}
    assert per == {("sip", 1.0, "release"), ("ldp", 2.0, "release")}
    said = str(topic.promise)
    assert said.startswith("Sequence Information Privacy with epsilon 1 nats per release")
    assert len(topic.promise.not_covered) > 5
    assert all(f"\n- {point}" in said for point in topic.promise.not_covered)
    assert repr(topic.promise) == f"<Promise {promise.guarantee_id} of city (crr)>\n{said}"
    shown = topic._repr_html_()
    assert "&lt;fugu.Topic" in shown, "a browser would take it for a tag"
    assert "Not covered" in shown


def test_a_release_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    records, promise = sanitized(example_of("grr", tmp_path), walks(4, 20, 3, seed=1))
    once, twice = (fugu.read(many, promise=promise) for many in (records, records + records[5:9]))
    assert once.records.equals(twice.records)
    assert len(once.records) == 60


def test_means_are_those_of_what_was_released(tmp_path: Path) -> None:
    records, promise = sanitized(example_of("laplace", tmp_path), np.full((50, 4), 100))
    topic = fugu.read(records, promise=promise)
    values = [orjson.loads(record.value)["zone"] for record in records]
    assert topic.means().table["estimate"][0].as_py() == pytest.approx(np.mean(values))
    with pytest.raises(CannotBeEstimated, match="releases no symbols"):
        topic.shares()


def test_every_hour_has_an_estimate_of_its_own(tmp_path: Path) -> None:
    records, promise = sanitized(example_of("grr", tmp_path), walks(4, 30, 4, seed=1))
    table = fugu.read(records, promise=promise).shares(by="2m").table
    assert len(set(table["start"].to_pylist())) in (2, 3)
    assert len(table) % 4 == 0


def test_what_is_older_is_read_and_not_estimated(tmp_path: Path) -> None:
    records, promise = sanitized(example_of("grr", tmp_path), walks(4, 30, 4, seed=1))
    date = str(np.datetime64(BEGIN + 3 * MINUTE, "ms"))
    topic = fugu.read(records, promise=promise, since=date)
    assert set(topic.shares().table["records"].to_pylist()) == {30}
    assert len(topic.records) == 120


def test_a_record_of_another_promise_is_refused(tmp_path: Path) -> None:
    records, promise = sanitized(example_of("grr", tmp_path), walks(4, 5, 2, seed=1))
    other = replace(records[3], headers=[records[3].headers[0], ("fugu-guarantee", b"0" * 16)])
    with pytest.raises(CannotBeEstimated, match="partition 0 at offset 3"):
        fugu.read([*records[:3], other], promise=promise)


def test_records_of_two_laws_are_estimated_apart(tmp_path: Path) -> None:
    records, promise = sanitized(example_of("grr", tmp_path), walks(4, 20, 4, seed=1))
    later = promise.model_copy(update={"begins": {"0": 40}, "pipeline": "again"})
    collected = pa.Table.from_batches(collected_records(records), COLLECTED)
    table = decoded_records(collected, [promise, later])
    topic = fugu.analysis.Topic(table, [promise, later])
    with pytest.raises(CannotBeEstimated, match="2 laws"):
        topic.shares()
    assert set(topic.under(later).shares().table["records"].to_pylist()) == {40}


@pytest.mark.parametrize("by", [None, "1m"])
def test_a_topic_without_records_has_no_estimates_and_breaks_nothing(
    by: str | None, tmp_path: Path
) -> None:
    for kind, question in (("grr", "shares"), ("crr", "shares"), ("laplace", "means")):
        _, promise = sanitized(example_of(kind, tmp_path), np.zeros((2, 1), dtype=np.int64))
        estimates = getattr(fugu.read([], promise=promise), question)(by=by)
        assert np.isnan(estimates.table["estimate"].to_numpy()).all()
        assert (len(estimates.table) == 0) == (by is not None)
        assert len(estimates.plot()) == (by is None)


def test_people_of_a_window_are_read_and_nothing_is_estimated_of_them(tmp_path: Path) -> None:
    file = example_of("anonymize", tmp_path)
    promise = promise_of(file, configure(file).mechanism, "id")
    headers = [("fugu-release", b"0" * 32), ("fugu-guarantee", promise.guarantee_id.encode())]
    topic = fugu.read([Record(b"a", b'{"place":"station"}', 0, 0, 0, headers)], promise=promise)
    assert topic.records["value"].to_pylist() == ['{"place":"station"}']
    for question in (topic.shares, topic.means, topic.series, topic.shift_back, topic.check):
        with pytest.raises(CannotBeEstimated, match="adds no noise that could be undone"):
            question()


def test_records_without_a_promise_say_how_one_is_given() -> None:
    with pytest.raises(CannotBeEstimated, match="fugu explain PIPELINE --json"):
        fugu.read([Record(b"a", b"{}", 0, 0, 0)])


def test_records_that_hold_something_else_are_refused(tmp_path: Path) -> None:
    records, promise = sanitized(example_of("grr", tmp_path), walks(4, 5, 2, seed=1))
    for value in (b'{"zone": "unheard of"}', b'{"zone": 7}', b"nothing"):
        with pytest.raises(CannotBeEstimated, match="promise"):
            fugu.read([replace(records[0], value=value)], promise=promise).shares()


def test_streams_without_a_key_cannot_be_followed_and_bars_say_so(tmp_path: Path) -> None:
    truth = walks(4, 30, 4, seed=1)
    records, promise = sanitized(example_of("grr", tmp_path), truth, keyed=False)
    assert "no key" in str(fugu.read(records, promise=promise).shares())
    records, promise = sanitized(example_of("crr", tmp_path), truth, keyed=False)
    with pytest.raises(CannotBeEstimated, match="nobody can tell which belong together"):
        fugu.read(records, promise=promise).shares()


def test_a_user_who_moved_to_another_partition_is_read_in_the_order_of_time(
    tmp_path: Path,
) -> None:
    records, promise = sanitized(example_of("crr", tmp_path), walks(4, 30, 6, seed=1, stay=0.8))
    expected = fugu.read(records, promise=promise).shares().table
    later = BEGIN + 3 * MINUTE
    moved = [
        replace(one, partition=0 if one.timestamp >= later and one.key == b"user-3" else 1)
        for one in records
    ]
    moved.sort(key=lambda one: (one.partition, one.offset))
    found = fugu.read(moved, promise=promise).shares()
    for name in ("estimate", "low", "high"):
        assert found.table[name].to_pylist() == pytest.approx(expected[name].to_pylist())
    assert "left out" not in str(found)


def test_a_user_whose_order_nobody_knows_is_left_out_and_the_note_says_so(tmp_path: Path) -> None:
    records, promise = sanitized(example_of("crr", tmp_path), walks(4, 30, 6, seed=1, stay=0.8))
    driven = [
        replace(one, partition=1) if one.key == b"user-3" and one.offset // 30 == 1 else one
        for one in records
    ]
    driven.sort(key=lambda one: (one.partition, one.offset))
    shares = fugu.read(driven, promise=promise).shares()
    assert "1 users are left out" in str(shares)
    assert set(shares.table["users"].to_pylist()) == {29}
    counted, law = sanitized(example_of("grr", tmp_path), walks(4, 30, 4, seed=1))
    apart = [replace(one, partition=number % 2) for number, one in enumerate(counted)]
    apart.sort(key=lambda one: (one.partition, one.offset))
    assert "left out" not in str(fugu.read(apart, promise=law).shares()), "order is no matter"


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        ("crr", 0.15),
        ("paper_crr", 0.23),
        ("adaptive_crr", 0.15),
        ("batched_crr", 0.15),
        ("pim", 0.15),
    ],
)
def test_the_trap_of_a_wrong_model_raises_the_alarm(kind: str, most: float, tmp_path: Path) -> None:
    """Uniform truth under a model that stays: posteriors and differences agree, and are wrong."""
    records, promise = sanitized(example_of(kind, tmp_path), walks(4, 200, 20, seed=1))
    topic = fugu.read(records, promise=promise)
    with pytest.warns(ModelAlarm, match="do not agree with the model"):
        shares = topic.shares()
    assert shares.check is not None
    assert shares.check.alarm
    assert "MODEL ALARM" in str(shares)
    assert shares.table["estimate"][3].as_py() < most


def pairs(directory: Path, stays: float) -> dict[str, str]:
    """Write a model of second order over the zones, in which the last two are often the same."""
    rows = [{"from": one, "to": {one: stays}, "uniform": 1.0 - stays} for one in SYMBOLS]
    rows += [{"from": [one, one], "to": {one: stays}, "uniform": 1.0 - stays} for one in SYMBOLS]
    model = {"format": "fugu-markov-model", "format_version": 2, "alphabet": SYMBOLS}
    content = model | {"prior": "uniform", "smoothing": 0.0, "transition": rows}
    (directory / "pairs.json").write_bytes(orjson.dumps(content))
    return {"model": "pairs.json"}


@pytest.mark.parametrize(("stays", "alarm"), [(0.8, False), (0.3, True)])
def test_lists_under_a_model_of_second_order_are_checked_against_it(
    stays: float, alarm: bool, tmp_path: Path
) -> None:
    file = example_of("batched_crr", tmp_path, pairs(tmp_path, stays))
    records, promise = sanitized(file, walks(4, 300, 12, seed=1, stay=0.8))
    topic = fugu.read(records, promise=promise)
    expected: AbstractContextManager[object] = nullcontext()
    if alarm:
        expected = pytest.warns(ModelAlarm)
    with expected:
        check = topic.shares().check
    assert check is not None
    assert check.alarm == alarm


def test_shares_of_lists_in_time_are_refused(tmp_path: Path) -> None:
    in_time = {"step": {"length": "60s", "longest_gap": 5}}
    records, promise = sanitized(
        example_of("batched_crr", tmp_path, in_time), walks(4, 5, 4, seed=1)
    )
    with pytest.raises(CannotBeEstimated, match=r"gaps between its records \(operator\.step\)"):
        fugu.read(records, promise=promise).shares()


def test_records_after_a_model_was_learned_from_noise_are_said_to_lean_on_it(
    tmp_path: Path,
) -> None:
    short = {"positions": 4, "when_short": "accept"}
    file = example_of("cold_start_crr", tmp_path, short)
    for each, late in ((4, None), (6, "20 of 60 records")):
        records, promise = sanitized(file, walks(4, users=10, each=each, seed=1))
        notes = [
            one for one in fugu.read(records, promise=promise).shares().notes if "learned" in one
        ]
        assert [one.split(" came after")[0] for one in notes] == ([] if late is None else [late])


def test_figures_have_bars_that_age_and_no_shares(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    truth = np.cumsum(rng.integers(-3, 4, (2, 60)), axis=1) + 500
    records, promise = sanitized_figures(example_of("sample", tmp_path), truth)
    topic = fugu.read(records, promise=promise)
    series = topic.series().table
    widths = series["high"].to_numpy() - series["low"].to_numpy()
    ages = series["age"].to_numpy()
    assert set(ages.tolist()) == {0, 1, 2, 3}
    assert widths[ages == 3].mean() > widths[ages == 0].mean()
    totals = topic.totals(window=4).table
    assert len(totals) in (2 * 14, 2 * 15)
    with pytest.raises(CannotBeEstimated, match="series"):
        topic.shares()


def test_smoothed_figures_are_nearer_to_the_truth_and_know_how_near(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    truth = np.cumsum(rng.integers(-3, 4, (2, 80)), axis=1) + 500
    records, promise = sanitized_figures(example_of("uniform", tmp_path), truth)
    series = fugu.read(records, promise=promise).series()
    plain, smooth = series.table, series.smoothed().table
    true = truth.ravel()
    errors = [np.abs(table["estimate"].to_numpy() - true).mean() for table in (plain, smooth)]
    assert errors[1] < 0.8 * errors[0]
    held = (smooth["low"].to_numpy() <= true) & (true <= smooth["high"].to_numpy())
    assert held.mean() > 0.85
    assert smooth["standard_error"].to_numpy().max() < plain["standard_error"].to_numpy().min()


def test_figures_that_are_filtered_are_not_smoothed_again(tmp_path: Path) -> None:
    truth = np.full((2, 30), 500)
    records, promise = sanitized_figures(example_of("fast", tmp_path), truth)
    with pytest.raises(CannotBeEstimated, match="filtered already"):
        fugu.read(records, promise=promise).series().smoothed()


def test_displaced_values_are_moved_back_by_their_mean_delay(tmp_path: Path) -> None:
    """A ramp, on which a value that is late is too small by exactly its delay."""
    ramp = np.array([b"%d" % tick for tick in range(200)], dtype=object)
    truth = np.tile(ramp, (30, 1))
    records, promise = sanitized(example_of("threshold_perturbation", tmp_path), truth)
    topic = fugu.read(records, promise=promise)
    for average, most in ((1, 3.0), (10, 1.0)):
        table = topic.shift_back(average)
        inside = (table["tick"].to_numpy() > 20) & (table["tick"].to_numpy() < 180)
        errors = table["value"].to_numpy()[inside] + 1.0 - table["tick"].to_numpy()[inside]
        assert abs(errors.mean()) < 0.5, "the mean delay is a whole number of ticks here"
        assert np.abs(errors).mean() < most
    with pytest.raises(CannotBeEstimated, match="hides when a value came"):
        topic.series()


def test_what_is_not_displaced_is_not_moved_back(tmp_path: Path) -> None:
    records, promise = sanitized(example_of("grr", tmp_path), walks(4, 5, 2, seed=1))
    with pytest.raises(CannotBeEstimated, match="does not displace values in time"):
        fugu.read(records, promise=promise).shift_back()


def test_tables_are_taken_by_whatever_library_a_person_uses(tmp_path: Path) -> None:
    records, promise = sanitized(example_of("grr", tmp_path), walks(4, 30, 3, seed=1))
    shares = fugu.read(records, promise=promise).shares()
    estimates = shares.table["estimate"].to_pylist()
    assert shares.to_pandas()["estimate"].tolist() == estimates
    assert shares.to_polars()["estimate"].to_list() == estimates
    assert polars.DataFrame(shares)["estimate"].to_list() == estimates
    found = duckdb.connect().execute("SELECT estimate FROM shares").fetchall()
    assert found == [(one,) for one in estimates]


def test_it_needs_neither_bytewax_nor_a_kafka_client() -> None:
    program = (
        "import sys\n"
        "lacking = 'bytewax', 'kafka', 'confluent_kafka', 'numba', 'typer', 'rich'\n"
        "sys.modules.update(dict.fromkeys(lacking))\n"
        "import fugu\n"
        "assert fugu.read and fugu.analysis.Topic\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


# Releases by a schema are read from the promise alone, as those in JSON are.


EXAMPLES = ["crr", "oue", "lrm", "batched_crr"]


def schema_of(kind: SchemaKind, file: PipelineFile) -> ReleaseSchema:
    pipeline = file.pipeline
    return release_schema(kind, pipeline.operator.values(pipeline.source.fields))


def by_schema(
    schema: ReleaseSchema, records: list[Record], promise: Promise
) -> tuple[list[Record], Promise]:
    """The same releases as a pipeline with `sink.format` writes them, and what it promises."""
    form = PromisedForm(kind=schema.kind, schema_text=schema.text.text)
    sink = promise.sink.model_copy(update={"form": form})
    write = schema.writer() or bytes
    written = [replace(one, value=prefix_of(7) + write(one.value)) for one in records]
    return written, promise.model_copy(update={"sink": sink})


@pytest.mark.parametrize("kind", get_args(SchemaKind))
@pytest.mark.parametrize("example", EXAMPLES)
def test_releases_by_a_schema_are_what_those_in_json_are(
    kind: SchemaKind, example: str, tmp_path: Path
) -> None:
    file = example_of(example, tmp_path)
    records, promise = sanitized(file, walks(4, 5, 6, seed=1))
    written, said = by_schema(schema_of(kind, file), records, promise)
    read, plain = fugu.read(written, promise=said), fugu.read(records, promise=promise)
    assert read.records.equals(plain.records)
    written[3].value = written[3].value[:-1]
    if kind != "json_schema":
        with pytest.raises(CannotBeEstimated, match="is not as the schema of its promise says"):
            fugu.read(written, promise=said)


@pytest.mark.parametrize(("kind", "module"), [("avro", "fastavro"), ("protobuf", "grpc_tools")])
def test_what_reads_a_kind_of_releases_is_named_where_it_is_not_installed(
    kind: SchemaKind, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = example_of("grr", tmp_path)
    written, said = by_schema(schema_of(kind, file), *sanitized(file, walks(4, 2, 1, seed=1)))
    monkeypatch.setattr(reading, "find_spec", {}.get)
    with pytest.raises(ModuleNotFoundError, match=f"{kind} needs {module}: pip install"):
        fugu.read(written, promise=said)
