"""`operator.step`: from the pipeline file and the times of records to what is published."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from fugu.dataflows.base.batches import Sanitized
from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.commands.explain import explain
from fugu.dataflows.kinds.crr import CrrOperator
from fugu.dataflows.offline.evaluation.family import Wanted
from fugu.dataflows.offline.evaluation.records.family import RecordFamily
from fugu.dataflows.offline.evaluation.records.grid import candidates
from fugu.dataflows.offline.evaluation.sample import Sample
from fugu.dataflows.pipeline.mechanisms import Configured, configure
from fugu.dataflows.stages.per_record import PerRecord
from fugu.dataflows.state.row_table import RowTable
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.inputs import Gaps
from tests.dataflows.pipeline.pipeline_files import MODEL, PIPELINE, configured, read, read_error
from tests.dataflows.stages.columns import ALPHABET, EVERYBODY, SCOPE, SOURCE, Message, batch_of

STEP = ("epsilon: 1.0", "epsilon: 1.0\n  step: {length: 60s, longest_gap: 100}")
AT_FIELD = ("value: zone", "value: zone\n  timestamp: {field: at, format: epoch-s}")
BUDGET = "budget: {total: 12}\n"
MINUTE = 60_000


def text(*changes: tuple[str, str]) -> str:
    changed = PIPELINE
    for old, new in changes:
        assert changed.count(old) == 1
        changed = changed.replace(old, new)
    return changed


def mechanism_of(made: Configured) -> ConditionalRandomizedResponse:
    assert isinstance(made.mechanism, ConditionalRandomizedResponse)
    return made.mechanism


def test_a_step_reaches_the_mechanism_and_without_one_the_law_is_as_before(tmp_path: Path) -> None:
    in_time = mechanism_of(configured(tmp_path, text=text(STEP)))
    assert in_time.gaps == Gaps(MINUTE, 100)
    untimed = mechanism_of(configured(tmp_path))
    assert untimed.gaps is None
    assert untimed.law_digest() != in_time.law_digest()
    said = mechanism_of(configured(tmp_path, text=text((STEP[0], f"{STEP[0]}\n  step: null"))))
    assert said.law_digest() == untimed.law_digest()


@pytest.mark.parametrize(
    ("length", "milliseconds"),
    [
        ("1ms", 1),
        ("1.5s", 1_500),
        ("15m", 15 * MINUTE),
        ("12h", 720 * MINUTE),
        ("30d", 43_200 * MINUTE),
    ],
)
def test_every_unit_is_read(length: str, milliseconds: int, tmp_path: Path) -> None:
    operator = read(tmp_path, text((STEP[0], STEP[1].replace("60s", length)))).pipeline.operator
    assert isinstance(operator, CrrOperator)
    assert operator.step is not None
    assert operator.step.length == timedelta(milliseconds=milliseconds)
    assert operator.step.gaps.step_milliseconds == milliseconds


@pytest.mark.parametrize(
    ("step", "where", "says"),
    [
        ("{length: 60, longest_gap: 9}", "step.length", "write a duration with its unit"),
        ("{length: 2w, longest_gap: 9}", "step.length", "write a duration with its unit"),
        ("{length: 0s, longest_gap: 9}", "step.length", "at least 1ms and at most 30d"),
        ("{length: 31d, longest_gap: 9}", "step.length", "at least 1ms and at most 30d"),
        ("{length: 1.5ms, longest_gap: 9}", "step.length", "a whole number of milliseconds"),
        ("{longest_gap: 9}", "step.length", "is required; add it"),
        ("{length: 60s}", "step.longest_gap", "is required; add it"),
        ("{length: 60s, longest_gap: 0}", "step.longest_gap", "at least 1"),
        ("{length: 60s, longest_gap: 10001}", "step.longest_gap", "at most 10000"),
        ("{length: 60s, longest_gap: 1.5}", "step.longest_gap", "valid integer"),
        ("{length: 60s, longest_gap: true}", "step.longest_gap", "valid integer"),
        ("{length: 60s, longest_gap: 9, gap: 1}", "step.gap", "unknown key"),
        ("60s", "step", "write a section"),
    ],
)
def test_an_error_names_the_line_and_what_to_write(
    step: str, where: str, says: str, tmp_path: Path
) -> None:
    error = read_error(tmp_path, text((STEP[0], f"{STEP[0]}\n  step: {step}")))
    assert error.startswith(f"pipeline.yaml:9: operator.{where}: ")
    assert says in error
    assert "\n" not in error


@pytest.mark.parametrize(
    ("kind", "more", "says"),
    [
        ("paper_crr", "\n  accept_unsound: true", "operator.step: unknown key"),
        ("adaptive_crr", "\n  decision_epsilon: 1.0", "operator.step: unknown key"),
    ],
)
def test_other_operators_know_no_time(kind: str, more: str, says: str, tmp_path: Path) -> None:
    changed = text((STEP[0], STEP[1] + more), ("kind: crr", f"kind: {kind}"))
    error = read_error(tmp_path, changed)
    assert error.startswith("pipeline.yaml:9: operator.step: ")
    assert says in error


def stream(records: int = 200) -> list[Message]:
    """Three users with irregular gaps, some of them days long, and times that go backwards."""
    rng, minute, messages = np.random.default_rng(8), 28_000_000, list[Message]()
    for _ in range(records):
        minute += int(rng.choice([-3, 0, 0, 1, 2, 7, 30, 3_000]))
        value = {"zone": ALPHABET[rng.integers(3)], "at": 60 * minute + int(rng.integers(60))}
        messages.append((b"user-%d" % rng.integers(3), orjson.dumps(value)))
    return messages


def published(made: Configured, messages: list[Message], batch_size: int) -> tuple[object, ...]:
    """All releases, and the state after them; between batches the state goes through its bytes."""
    lift = PerRecord(made.mechanism, SCOPE, SOURCE, EVERYBODY)
    values, table = list[bytes](), RowTable(lift.start)
    for first in range(0, len(messages), batch_size):
        batch = batch_of(messages[first : first + batch_size], first_offset=first)
        sanitized = lift(made.codec.decode(batch), table)
        values += made.codec.encode(sanitized.releases)
        block, table = table.take_everything(), RowTable(lift.start)
        table.apply(block)
    return values, table.take_everything()


@pytest.mark.parametrize("budget", ["", BUDGET])
def test_how_records_are_fetched_never_shows_and_a_replay_gives_the_same_bytes(
    budget: str, tmp_path: Path
) -> None:
    changed = text(STEP, AT_FIELD) + budget
    whole = published(configured(tmp_path, text=changed), stream(), batch_size=200)
    for batch_size in (1, 7, 200):
        assert published(configured(tmp_path, text=changed), stream(), batch_size) == whole
    untimed = published(configured(tmp_path, text=text(AT_FIELD) + budget), stream(), 200)
    assert untimed != whole


def sanitized(
    made: Configured, minutes: list[int], arrived: list[int]
) -> tuple[Sanitized, RowTable]:
    """Release one user's records that say `at` and that Kafka has at `arrived`, in minutes."""
    lift = PerRecord(made.mechanism, SCOPE, SOURCE, EVERYBODY)
    values = [orjson.dumps({"zone": "light", "at": 60 * minute}) for minute in minutes]
    batch = batch_of([(b"alice", value) for value in values])
    batch = replace(batch, timestamps=[MINUTE * minute for minute in arrived])
    table = RowTable(lift.start)
    return lift(made.codec.decode(batch), table), table


def belief_of(made: Configured, table: RowTable) -> Any:
    """Return the belief about the one stream, with the steps that readers know of."""
    return table.gather(table.rows_of([b"alice"]))["belief"][0].tolist()


def read_by_an_analyst(mechanism: ConditionalRandomizedResponse, out: Sanitized) -> Any:
    """From published symbols and timestamps alone."""
    state, tick = mechanism.start(1), mechanism.tick_milliseconds
    assert tick is not None
    for symbol, timestamp in zip(out.releases.values, out.timestamps, strict=True):
        state = mechanism.elapse(state, np.array([timestamp // tick]))
        state, _ = mechanism.observe(state, np.array([symbol]))
    return state["belief"][0].tolist()


def test_the_configured_time_is_what_counts_and_readers_can_follow_it(tmp_path: Path) -> None:
    """A field says 0, 5 and 9 minutes; Kafka says that all came at once, or the other way round."""
    by_field = configured(tmp_path, text=text(STEP, AT_FIELD))
    spread, together = [0, 5, 9], [7, 7, 7]
    out, table = sanitized(by_field, spread, together)
    assert out.timestamps == [0, 5 * MINUTE, 9 * MINUTE]
    assert belief_of(by_field, table) == read_by_an_analyst(mechanism_of(by_field), out)
    again, same = sanitized(by_field, spread, [1, 2, 3])
    assert again.releases.values.tolist() == out.releases.values.tolist()
    assert belief_of(by_field, same) == belief_of(by_field, table)

    by_kafka = configured(tmp_path, text=text(STEP))
    swapped, other = sanitized(by_kafka, together, spread)
    assert swapped.releases.annotations["confidence"].tolist() == (
        out.releases.annotations["confidence"].tolist()
    )
    assert belief_of(by_kafka, other) == belief_of(by_field, table)
    _, at_once = sanitized(by_kafka, spread, together)
    assert belief_of(by_kafka, at_once) != belief_of(by_field, table)


def test_explain_says_how_gaps_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configured(tmp_path, text=text(STEP))
    explain([read(tmp_path, text(STEP))], as_json=False)
    shown = " ".join(capsys.readouterr().out.split())
    rule = "in steps of 1 min: between two records at least one, and at most 100 however long"
    assert shown.count(rule) == 2, "among the parameters, and in the promise"
    assert "the times of accepted records tell nothing about symbols" in shown
    explain([read(tmp_path)], as_json=False)
    assert "one step per record" in " ".join(capsys.readouterr().out.split())


def sample(directory: Path, made: Configured) -> Sample:
    """A stream that stays for a while and then is seen again when everything may have changed."""
    path, rng = directory / "sample.jsonl", np.random.default_rng(4)
    transition, prior = np.array(MODEL["transition"]), np.array(MODEL["prior"])
    lines = []
    for user in range(150):
        zone, minute = rng.choice(3, p=prior), 0
        for _ in range(8):
            lines.append({"key": user, "zone": ALPHABET[zone], "at": 60 * minute})
            gap = int(rng.choice([1, 1, 20]))
            minute += gap
            zone = rng.choice(3, p=np.linalg.matrix_power(transition, gap)[zone])
    path.write_bytes(b"\n".join(map(orjson.dumps, lines)))
    return Sample.read(path, "key", made.codec)


def test_an_evaluation_counts_time_and_its_reader_too(tmp_path: Path) -> None:
    """Streams drawn from the model in time: confidences and debiased shares are right."""
    (tmp_path / "model.json").write_bytes(orjson.dumps(MODEL))
    file = read(tmp_path, text(STEP, AT_FIELD))
    records = sample(tmp_path, configure(file))
    report = RecordFamily.planned(file, records, Wanted("1.5", "crr")).report(runs=4, seed=1)
    utility: Any = report.rows[0].utility
    assert utility.expected_wrong == pytest.approx(utility.wrong.value, abs=0.03)
    assert utility.debiased.largest.value < 0.03
    assert candidates(file, [1.5], [])[0].mechanism.law_digest() == (
        configure(read(tmp_path, text(STEP, AT_FIELD).replace("1.0", "1.5"))).mechanism.law_digest()
    )


def test_an_evaluation_without_times_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_bytes(orjson.dumps(MODEL))
    file = read(tmp_path, text(STEP))
    records = sample(tmp_path, configure(file))
    with pytest.raises(FuguError, match=r"operator\.step counts time.* source\.timestamp: \{field"):
        RecordFamily.planned(file, records, Wanted())


def test_an_evaluation_says_that_rivals_do_not_count_time(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_bytes(orjson.dumps(MODEL))
    file = read(tmp_path, text(STEP, AT_FIELD))
    records = sample(tmp_path, configure(file))
    for rival, said in (("crr", False), ("batched_crr", True)):
        report = RecordFamily.planned(file, records, Wanted("1", rival)).report(runs=1, seed=1)
        assert any("operator.step: rivals have none" in note for note in report.notes) == said
