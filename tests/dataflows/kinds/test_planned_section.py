"""Pipeline files that plan what releases spend, and what they may not say."""

from pathlib import Path

import orjson
import pytest

from fugu.dataflows.commands.explain import explain
from fugu.dataflows.pipeline.mechanisms import configure, remarks_of
from fugu.operators.budget import Budgeted
from fugu.operators.sip.planned_release import PlannedRelease
from tests.dataflows.pipeline.pipeline_files import PIPELINE, read, read_error

PLANNED = (
    PIPELINE.replace("kind: crr", "kind: planned_crr")
    .replace("[rest, light, vigorous]", "[away, home]")
    .replace("sink:", "budget: {total: 40}\nsink:")
)


def read_with_model(directory: Path, stays: float, text: str = PLANNED) -> PlannedRelease:
    model = {
        "format": "fugu-markov-model",
        "format_version": 2,
        "alphabet": ["away", "home"],
        "prior": [0.5, 0.5],
        "transition": [[stays, 1.0 - stays], [1.0 - stays, stays]],
        "smoothing": 0.0,
    }
    (directory / "model.json").write_bytes(orjson.dumps(model))
    budgeted = configure(read(directory, text)).mechanism
    assert isinstance(budgeted, Budgeted)
    assert isinstance(budgeted.mechanism, PlannedRelease)
    return budgeted.mechanism


def test_a_plan_is_adopted_where_it_gains_and_said_not_to_be_elsewhere(tmp_path: Path) -> None:
    file = read(tmp_path, PLANNED)
    sticky = read_with_model(tmp_path, stays=0.9)
    assert sticky.plan is not None
    assert not [remark for remark in remarks_of(file, sticky) if "operator.epsilon" in remark]
    free = read_with_model(tmp_path, stays=0.5)
    assert free.plan is None
    [remark] = [one for one in remarks_of(file, free) if "operator.epsilon" in one]
    assert "planned spending is not better here, so the pipeline runs as kind: crr" in remark


def test_a_stream_has_the_total_of_the_budget_and_a_release_the_most_of_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planned = read_with_model(tmp_path, stays=0.9)
    assert planned.most > planned.epsilon
    explain([read(tmp_path, PLANNED)])
    said = " ".join(capsys.readouterr().out.split())
    assert "1 nats per release on average, under the model" in said
    assert "Sequence Information Privacy with epsilon 40 nats per stream" in said


def test_epsilon_is_said_to_be_no_mean_where_records_may_be_steps_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    in_time = PLANNED.replace("epsilon: 1.0", "epsilon: 1.0\n  step: {length: 60s, longest_gap: 9}")
    read_with_model(tmp_path, 0.9, in_time)
    explain([read(tmp_path, in_time)])
    said = " ".join(capsys.readouterr().out.split())
    assert "under the model, if records are one step apart; after a gap more" in said


def test_a_budget_below_the_most_of_one_release_is_remarked(tmp_path: Path) -> None:
    small = PLANNED.replace("{total: 40}", "{total: 2}")
    read_with_model(tmp_path, 0.9, small)
    file = read(tmp_path, small)
    [remark] = [one for one in remarks_of(file, configure(file).mechanism) if "total" in one]
    assert "2 nats are less than one release may spend, which is 2.5" in remark


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("budget: {total: 40}\n", "", "Write budget: {total: NATS} without a window"),
        ("{total: 40}", "{total: 40, window: 9}", "Write budget: {total: NATS} without a window"),
        ("[away, home]", "[away, home, near]", "has 3 symbols, and spending is planned for 2"),
        ("epsilon: 1.0", "epsilon: 1.0\n  mode: full_support", "operator.mode: unknown key"),
        ("epsilon: 1.0", "epsilon: 1.0\n  distance: ordered", "operator.distance: unknown key"),
        ("epsilon: 1.0", "epsilon: 1.0\n  kernel: heuristic", "operator.kernel: unknown key"),
        ("epsilon: 1.0", "epsilon: 1.0\n  accept_unsound: true", "accept_unsound: unknown key"),
    ],
)
def test_what_does_not_go_is_refused(old: str, new: str, reason: str, tmp_path: Path) -> None:
    assert reason in read_error(tmp_path, PLANNED.replace(old, new))


def test_a_promise_per_release_may_be_enough(tmp_path: Path) -> None:
    accepted = PLANNED.replace("budget: {total: 40}\n", "").replace(
        "epsilon: 1.0", "epsilon: 1.0\n  accept_growing_loss: true"
    )
    read(tmp_path, accepted)
