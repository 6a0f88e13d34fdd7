"""Audits of displacement in time: what they prove, and that they never prove too much."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fugu.dataflows.kinds import KINDS
from fugu.dataflows.offline.auditing.attacks import Effort, carried_out
from fugu.dataflows.offline.auditing.audited import Audited
from fugu.dataflows.offline.auditing.displaced import family
from fugu.dataflows.offline.auditing.displaced.family import audited_displaced
from fugu.dataflows.offline.auditing.displaced.worlds import DelayedWorld, Scene
from fugu.dataflows.offline.auditing.line import Line
from tests.dataflows.kinds.example_files import example_of
from tests.thinned import first_in_test

DISPLACING = [kind for kind, section in KINDS.items() if section.evaluation == "displaced"]
MINUTES = {"ticks": {"width": "1m", "grace": "90s"}}


def audited(directory: Path, kind: str = "threshold_perturbation", **changes: Any) -> Audited:
    return audited_displaced(example_of(kind, directory, {"window": 4, **changes}), steps=4)


@pytest.mark.parametrize(
    ("kind", "ticks"),
    first_in_test([("threshold_perturbation", MINUTES), *((kind, {}) for kind in DISPLACING)], 1),
    ids=["minutes", *DISPLACING],
)
def test_most_of_what_is_claimed_is_proved_in_every_phase_and_never_more(
    kind: str, ticks: dict[str, Any], tmp_path: Path
) -> None:
    found = audited(tmp_path, kind, epsilon=4.0, **ticks)
    assert [check.about for check in found.checks if not check.passed] == []
    [worst] = found.worst
    assert worst.leaked == pytest.approx(worst.claim, abs=1e-9)
    findings = list(carried_out(found.attacks, Effort(4_000, 99.9, seed=1), lambda runs: None))
    assert {attack.name.split(":")[0] for attack in found.attacks} == {
        "first window",
        "steady state, after a restart",
        "second epoch",
    }
    for finding in findings:
        assert finding.exact is not None
        assert 0.5 * finding.exact < finding.bound <= finding.attack.claim


def test_a_marked_value_is_seen_as_often_as_the_law_says(tmp_path: Path) -> None:
    line = Line.of(example_of("threshold_perturbation", tmp_path, {"window": 5, "epsilon": 2.0}))
    scene, expected = Scene("first window", 5), np.array([7, 3, 4, 5, 6]) / 25
    for delay in range(5):
        seen = DelayedWorld(line, scene, delay).seen(10_000, (0, delay), lambda runs: None)
        assert (seen[:, 0] == 2).mean() == pytest.approx(expected[delay], abs=0.025)
        [beside] = np.unique(seen[:, 1:], axis=0).tolist()
        assert beside[:-1] == [5.0, 0.0, 1.0, 1_000_004_000.0]


def test_what_is_left_out_of_the_topic_is_seen_to_be_left_out(tmp_path: Path) -> None:
    changes = {"window": 4, "epsilon": 1.0, "empty": "skip"}
    line = Line.of(example_of("extended_threshold_perturbation", tmp_path, changes))
    seen = DelayedWorld(line, Scene("first window", 4), 0).seen(500, (0, 0), lambda runs: None)
    assert np.isnan(seen[:, 0]).any()
    assert not (seen[:, 0] == 0).any()


def test_a_cold_start_is_said_to_be_unsound_and_has_no_exact_law(tmp_path: Path) -> None:
    found = audited(tmp_path, epsilon=4.0, start="cold", accept_unsound=True)
    assert not found.sound
    assert found.worst == ()
    assert any("exact law" in part for part in found.not_reached)


def test_windows_that_take_too_long_to_attack_are_said_to_be_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(family, "_LONGEST_ATTACKED", 3)
    found = audited(tmp_path, "backward_perturbation", epsilon=4.0)
    assert found.attacks == ()
    assert any("windows of more than 3 ticks" in part for part in found.not_reached)
    assert found.worst[0].leaked == pytest.approx(2.0)
