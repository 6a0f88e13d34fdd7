"""Figures of every kind are audited: honest ones pass all checks, and attacks stay in claims."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fugu.dataflows.base.errors import CannotBeAudited
from fugu.dataflows.kinds import KINDS, AggregateOperator
from fugu.dataflows.offline.auditing.aggregates.building import compared
from fugu.dataflows.offline.auditing.aggregates.contributions import (
    NONE,
    Contribution,
    farthest,
)
from fugu.dataflows.offline.auditing.attacks import Effort, carried_out
from fugu.dataflows.offline.auditing.audited import Audited
from fugu.dataflows.offline.auditing.families.by_section import audited
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.stages.log_entries import PartialSums, read_entry
from fugu.operators.guarantee import CONTRIBUTIONS, PRESENCE, Neighbours
from tests.dataflows.kinds.example_files import example_of
from tests.thinned import first_in_test, in_acceptance

FIGURES = [kind for kind in KINDS if issubclass(KINDS[kind], AggregateOperator)]
OFTEN = ["budget_absorption", "unicorn_ps"]
NORTH, SOUTH = (Contribution((("zone", name),), ((group, 1),)) for group, name in enumerate("ns"))


def of(kind: str, directory: Path, changes: dict[str, Any] | None = None) -> Audited:
    return audited(example_of(kind, directory, changes), 2)


@pytest.mark.parametrize(
    "kind",
    [kind if kind in OFTEN else in_acceptance(kind) for kind in FIGURES],
)
def test_an_honest_kind_passes_all_checks_and_keeps_its_claims(kind: str, tmp_path: Path) -> None:
    found = of(kind, tmp_path)
    assert [check.about for check in found.checks if not check.passed] == []
    assert not any(case.broken for case in found.worst)
    findings = list(carried_out(found.attacks, Effort(1_000, 99.9, 0), lambda runs: None))
    exact = KINDS[kind].evaluation == "collected"
    assert bool(findings) != exact, "figures from private reports are audited by their exact loss"
    assert bool(found.worst) or not exact
    assert not any(finding.broken for finding in findings)


@pytest.mark.parametrize(("horizon", "left_out"), first_in_test([(8, False), (400, True)], 1))
def test_ticks_of_a_tree_that_are_not_measured_are_named(
    horizon: int, left_out: bool, tmp_path: Path
) -> None:
    parts = of("binary_tree", tmp_path, {"horizon": horizon}).not_reached
    assert ("prices of a whole stream: measured are 200 ticks of 400" in parts) == left_out


def test_prices_of_groups_are_said_not_to_be_measured(tmp_path: Path) -> None:
    found = of("pegasus", tmp_path)
    assert found.worst == ()
    unmeasured = "prices of noise, and the exact worst case"
    assert any(part.startswith(unmeasured) for part in found.not_reached)


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({}, ["1 tick", "4 ticks, a whole window", "5 ticks, more than a window"]),
        in_acceptance(({"window": 96}, ["1 tick", "47 ticks of a window of 96"])),
        ({"window": 1}, ["1 tick, a whole window", "2 ticks, more than a window"]),
    ],
)
def test_attacks_go_by_the_window_of_the_promise(
    changes: dict[str, Any], names: list[str], tmp_path: Path
) -> None:
    attacks = of("uniform", tmp_path, changes).attacks
    assert [attack.name for attack in attacks] == names
    assert attacks[0].claim == 1.0
    if "more than a window" in names[-1]:
        assert attacks[-1].claim == 2.0


def test_the_exact_loss_of_uniform_noise_is_all_of_its_claim(tmp_path: Path) -> None:
    found = of("uniform", tmp_path)
    assert [case.leaked for case in found.worst] == pytest.approx([1.0])
    assert [attack.exact for attack in found.attacks] == [
        pytest.approx((loss, loss)) for loss in (0.25, 1.0, 1.25)
    ]


def test_attacks_prove_most_of_what_one_large_release_leaks(tmp_path: Path) -> None:
    found = of("sample", tmp_path, {"window": 1})
    [window, _] = carried_out(found.attacks, Effort(10_000, 99.9, 0), lambda runs: None)
    assert 0.7 < window.bound <= 1.0


@pytest.mark.parametrize(
    ("neighbours", "apart", "with_none"),
    [
        (CONTRIBUTIONS, 2, False),
        (PRESENCE, 1, True),
        (Neighbours("person", "contribution", "replaced"), 2, False),
    ],
)
def test_neighbours_are_those_of_the_promise(
    neighbours: Neighbours, apart: int, with_none: bool
) -> None:
    one, other = farthest(neighbours, [NORTH, SOUTH])
    assert one.apart(other) == apart
    assert (NONE in (one, other)) == with_none


def test_neighbours_that_figures_do_not_have_are_refused() -> None:
    for neighbours in (
        Neighbours("stream", "number", "replaced"),
        Neighbours("person", "contribution", "delayed"),
    ):
        with pytest.raises(CannotBeAudited, match="does not know neighbours"):
            farthest(neighbours, [NORTH, SOUTH])


@pytest.mark.parametrize(
    "time", [{"distinct_keys": 1}, {"distinct_keys": 5}, {"heartbeats": ["h"]}]
)
@pytest.mark.parametrize("timestamp", ["kafka", {"field": "at", "format": "epoch-s"}])
def test_a_population_moves_time_and_closes_every_tick(
    time: dict[str, Any], timestamp: Any, tmp_path: Path
) -> None:
    ticks = {"width": "15m", "grace": "40m", "stream_time": time}
    source = {"topic": "trips", "value": "zone", "timestamp": timestamp}
    file = example_of("uniform", tmp_path, {"ticks": ticks}, source=source)
    [guarantee] = configure(file).mechanism.guarantees()
    comparison, _ = compared(file, guarantee, 4)
    subject, said = comparison.subject, comparison.base
    entries = [read_entry(entry, "log") for entry in subject.log(said)]
    told = {(one.partition, one.tick) for one in entries if isinstance(one, PartialSums)}
    wanted = range(subject.first, subject.first + len(said))
    assert told >= {(partition, tick) for partition in range(2) for tick in wanted}


def test_the_person_counts_once_in_each_tick_and_only_where_inputs_differ(tmp_path: Path) -> None:
    file = example_of("uniform", tmp_path)
    [guarantee] = configure(file).mechanism.guarantees()
    comparison, numbers = compared(file, guarantee, 4)
    base = comparison.truths[comparison.base]
    for name, said in comparison.others.items():
        truths = comparison.truths[said]
        apart = [int(np.abs(truths[tick] - base[tick]).sum()) for tick in sorted(base)]
        assert sorted(apart, reverse=True)[: numbers[name]] == [2] * numbers[name]
        assert sum(apart) == 2 * numbers[name]


def test_many_groups_are_audited_with_some_of_them_and_the_report_says_so(tmp_path: Path) -> None:
    found = of("uniform", tmp_path, {"groups": [f"zone {number}" for number in range(40)]})
    assert "all 40 groups: attacked is the same pipeline with the first 6" in found.not_reached
    assert all(check.passed for check in found.checks)


def test_people_in_no_group_are_counted_too(tmp_path: Path) -> None:
    found = of("uniform", tmp_path, {"groups": None, "window": 1})
    assert [attack.claim for attack in found.attacks] == [1.0, 2.0]
    assert [case.leaked for case in found.worst] == pytest.approx([1.0])


def test_the_person_counts_however_little_room_there_is(tmp_path: Path) -> None:
    state = {"directory": "./state", "max_keys": 1}
    found = audited(example_of("uniform", tmp_path, state=state), 2)
    assert [case.leaked for case in found.worst] == pytest.approx([1.0])
