"""Ticks without values, warm-up and cool-down, the end of an epoch, and the next one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fugu.operators.mechanism import Inputs, Kind
from fugu.operators.randomness import DrawScope, Secret
from fugu.operators.temporal.random_delays import BackwardPerturbation, ForwardPerturbation
from fugu.operators.temporal.temporal_perturbation import Phase, TemporalPerturbation
from fugu.operators.temporal.threshold import (
    ExtendedThresholdPerturbation,
    ThresholdDispatch,
    ThresholdPerturbation,
)
from tests.operators.chosen_draws import ChosenWords
from tests.operators.temporal.runs import Run, numbers

MECHANISMS: list[TemporalPerturbation] = [
    BackwardPerturbation(k=6, epsilon=3.0),
    ForwardPerturbation(k=6, epsilon=3.0),
    ThresholdPerturbation(k=6, c0=3),
    ExtendedThresholdPerturbation(k=6, c0=3, acceptance=0.4),
]
WAITING = MECHANISMS[1:]


@pytest.mark.parametrize("mechanism", WAITING)
def test_an_epoch_ends_with_ticks_that_let_out_what_waits(mechanism: TemporalPerturbation) -> None:
    """Three values of a threshold wait; any of five slots may hold one of the forward kind."""
    run = Run(mechanism, rows=50).advance(20)
    waiting = [{int(value) for value in row if value} for row in run.state["slots"].tolist()]
    after, releases = run.finish()
    threshold = isinstance(mechanism, ThresholdDispatch)
    assert len(releases) == mechanism.cool_down_ticks == (3 if threshold else 5)
    for tick, released in enumerate(releases, start=21):
        assert (released.annotations["tick"] == tick).all()
        assert (released.annotations["phase"] == Phase.COOL_DOWN).all()
        assert (released.annotations["epoch"] == 0).all()
        assert released.kinds is not None
        assert (released.kinds == Kind.FRESH).all()
    left = np.array([numbers(released) for released in releases])
    assert [set(row[row > 0].tolist()) for row in left.T] == waiting
    assert (left > 0).all() or not threshold
    begins_anew(mechanism, run, after)


def test_what_waits_leaves_in_any_order() -> None:
    """Each of m = 3 values is the first one equally often; which is drawn anew for each row."""
    mechanism = ThresholdPerturbation(k=6, c0=3)
    run = Run(mechanism, rows=6_000).advance(20)
    _, releases = run.finish()
    order = np.argsort(np.array([numbers(released) for released in releases]), axis=0)
    _, counts = np.unique(order.T, axis=0, return_counts=True)
    assert len(counts) == 6
    assert np.abs(counts - 1_000).max() < 5 * 30


def begins_anew(
    mechanism: TemporalPerturbation, run: Run, after: dict[str, Any], epoch: int = 1
) -> None:
    """The next epoch has the state of a start; draws stay bound to what was before."""
    fresh = mechanism.start(run.rows)
    assert after.keys() == fresh.keys()
    for name in fresh.keys() - {"epoch", "history"}:
        assert after[name].tolist() == fresh[name].tolist()
    assert (after["epoch"] == epoch).all()
    assert (after["history"] == run.state["history"]).all()
    assert (after["history"] != 0).all()


def test_backward_perturbation_has_nothing_to_let_out() -> None:
    mechanism = MECHANISMS[0]
    run = Run(mechanism, rows=3).advance(20)
    after, releases = run.finish()
    assert releases == ()
    begins_anew(mechanism, run, after)
    _, dropped = mechanism.discard(run.state)
    assert dropped.tolist() == [0, 0, 0]
    _, silent = mechanism.cool_down(run.state)
    assert silent.values.tolist() == [None, None, None]


def test_discarding_drops_m_values_of_the_threshold_mechanism() -> None:
    mechanism = ThresholdPerturbation(k=6, c0=2)
    run = Run(mechanism, rows=40).advance(20)
    after, dropped = mechanism.discard(run.state)
    assert dropped.tolist() == [4] * 40
    begins_anew(mechanism, run, after)


def test_a_tick_without_a_value_is_not_counted_as_dropped() -> None:
    mechanism = ThresholdPerturbation(k=6, c0=2)
    run = Run(mechanism, rows=40).advance(20, none_at=(17, 18, 19, 20))
    _, dropped = mechanism.discard(run.state)
    held = [sum(value is not None for value in row) for row in run.state["slots"].tolist()]
    assert dropped.tolist() == held
    assert max(held) < 4
    assert ((~run.state["occupied"]).sum(axis=1) == 2).all()


@pytest.mark.parametrize("mechanism", WAITING)
def test_ticks_of_a_short_epoch_stay_suppressed_while_it_cools_down(
    mechanism: TemporalPerturbation,
) -> None:
    """Ticks 1 to k-1 are not published, whatever the input of them was. An epoch that has not come
    so far lets out nothing of a threshold: some of the slots that are reserved never held a value.
    """
    for ticks in (2, 5):
        run = Run(mechanism, rows=30).advance(ticks)
        _, releases = run.finish()
        nothing = isinstance(mechanism, ThresholdDispatch) and ticks < mechanism.k - 1
        for released in releases:
            assert released.kinds is not None
            hidden = nothing | (released.annotations["tick"] < mechanism.k)
            assert ((released.kinds == Kind.SUPPRESSED) == hidden).all()
            assert not numbers(released)[hidden].any()
            assert (
                nothing or not isinstance(mechanism, ThresholdDispatch) or numbers(released).all()
            )


@pytest.mark.parametrize("mechanism", WAITING)
def test_an_epoch_that_has_not_begun_cannot_end(mechanism: TemporalPerturbation) -> None:
    with pytest.raises(ValueError, match="has not begun"):
        Run(mechanism, rows=2).finish()


def test_every_epoch_reserves_slots_anew() -> None:
    mechanism = ThresholdPerturbation(k=40, c0=20)
    run = Run(mechanism, rows=20).advance(1)
    first = run.state["occupied"].copy()
    run.state = mechanism.next_epoch(run.state)
    run.advance(1)
    assert (run.state["epoch"] == 1).all()
    assert (run.state["tick"] == 1).all()
    assert (run.state["occupied"] != first).any(axis=1).all()
    assert ((~run.state["occupied"]).sum(axis=1) == 20).all()


def test_rows_of_different_ticks_advance_together() -> None:
    """Rows that begin reserve slots; what the others draw does not change."""
    mechanism = ThresholdPerturbation(k=6, c0=3, warm_up="emit")
    scope = DrawScope(Secret(bytes(32)), "tests", "t", 1, mechanism.law_digest())
    old, fresh = Run(mechanism, rows=4).advance(9).state, mechanism.start(3)
    both = {name: np.concatenate([fresh[name], old[name]]) for name in fresh}
    keys = [b"stream %d" % row for row in range(7)]
    values = np.array([b"x", None, b"", b"y", b"z", None, b"w"], dtype=object)
    apart = [
        mechanism.step(state, Inputs(values[rows]), scope.draws(keys[rows], [b"here"] * count))
        for state, rows, count in ((fresh, slice(0, 3), 3), (old, slice(3, 7), 4))
    ]
    after, releases = mechanism.step(both, Inputs(values), scope.draws(keys, [b"here"] * 7))
    for name, column in after.items():
        assert column.tolist() == [*apart[0][0][name].tolist(), *apart[1][0][name].tolist()]
    expected = [*apart[0][1].values.tolist(), *apart[1][1].values.tolist()]
    assert releases.values.tolist() == expected


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    "values",
    [
        np.array(["text"], dtype=object),
        np.array([7], dtype=object),
        np.array([bytearray(b"x")], dtype=object),
        np.array([b"fixed"]),
        np.array([7]),
    ],
)
def test_only_bytes_and_none_are_payloads(mechanism: TemporalPerturbation, values: Any) -> None:
    words = ChosenWords(np.zeros(1, dtype=np.uint64))
    with pytest.raises(ValueError, match="bytes or None"):
        mechanism.step(mechanism.start(1), Inputs(values), words)


@pytest.mark.parametrize("option", ["warm_up", "start_mode", "calibrate"])
def test_a_word_that_is_no_option_is_refused_naming_it(option: str) -> None:
    kinds: dict[str, Callable[[Any], object]] = {
        "warm_up": lambda word: BackwardPerturbation(k=3, epsilon=1.0, warm_up=word),
        "start_mode": lambda word: ThresholdPerturbation(k=3, c0=2, start_mode=word),
        "calibrate": lambda word: ForwardPerturbation(k=3, epsilon=1.0, calibrate=word),
    }
    with pytest.raises(ValueError, match=f"^{option}: must be"):
        kinds[option]("perhaps")
