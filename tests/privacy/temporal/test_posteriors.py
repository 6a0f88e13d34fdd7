"""Compute what a reader of all releases believes about one delay, if values say nothing: G3.

All that such a reader can use is which ticks are empty, and which releases are the same value.
"""

from collections.abc import Sequence

import numpy as np
import pytest

from fugu.operators.mechanism import Array, Floats, Integers
from fugu.operators.temporal.random_delays import BackwardPerturbation, ForwardPerturbation
from fugu.operators.temporal.threshold import ExtendedThresholdPerturbation, ThresholdPerturbation
from tests.privacy.temporal.paths import FIRST_OLD, Paths, steady


def payloads(first: int, last: int) -> Sequence[bytes]:
    return [b"%d" % tick for tick in range(first, last + 1)]


def posteriors(patterns: Array, delays: Integers, weight: Floats) -> Floats:
    """P(pattern and delay), a row for each pattern."""
    distinct, same = np.unique(patterns, axis=0, return_inverse=True)
    joint = np.zeros((len(distinct), delays.max() + 1))
    np.add.at(joint, (same.ravel(), delays), weight)
    return joint


def mean_largest(joint: Floats) -> float:
    """The posterior probability of the likeliest delay, on average."""
    return float(joint.max(axis=1).sum() / joint.sum())


@pytest.mark.parametrize(("k", "c0"), [(3, 2), (4, 2), (4, 3), (5, 2), (5, 3), (5, 4)])
def test_all_outputs_of_the_threshold_mechanism_say_no_more_than_its_law(k: int, c0: int) -> None:
    """Every tick has a value and no value comes twice: there is but one pattern, before and after,
    and so it is from the first tick on that is not suppressed."""
    mechanism = ThresholdPerturbation(k=k, c0=c0)
    paths = steady(mechanism).after(payloads(1, 2 * k - 1))
    assert (paths.released > 0).all()
    assert all(len(set(row)) == len(row) for row in paths.released.tolist())
    joint = posteriors(paths.released > 0, k - paths.released[:, k - 1], paths.weight)
    assert joint == pytest.approx(mechanism.delay_law[None], rel=1e-12)
    assert mechanism.audit()["law_only"] == pytest.approx(joint.max(), rel=1e-12)


@pytest.mark.parametrize(
    ("k", "c0", "printed"), [(4, 2, 3 / 7), (5, 3, 0.36), (5, 4, 0.6), (10, 7, 0.45)]
)
def test_what_leaves_in_the_cool_down_says_as_much_as_is_printed(
    k: int, c0: int, printed: float
) -> None:
    """In random order, each value that waits is as likely to be that of any release as another one;
    in the order of slots, the last one was certain to be the last value (1.0)."""
    mechanism = ThresholdPerturbation(k=k, c0=c0)
    steady_law = mechanism.delay_law
    waits = 1.0 - np.cumsum(steady_law)[:-1]
    ages = waits / (k - c0)
    assert ages.sum() == pytest.approx(1.0)
    assert mechanism.audit()["max_posterior_exchangeable"] == pytest.approx(printed, abs=1e-9)
    assert max(steady_law.max(), ages.max()) == pytest.approx(printed, abs=1e-9)


@pytest.mark.parametrize("option", [{"warm_up": "emit"}, {"start_mode": "cold"}])
def test_that_is_not_said_where_the_start_is_seen(option: dict[str, str]) -> None:
    mechanism = ThresholdPerturbation.for_budget(10, 5.0, **option)
    assert mechanism.audit()["max_posterior_exchangeable"] == 1.0


@pytest.mark.parametrize(
    ("epsilon", "printed", "of_the_law"),
    [(0.5, 0.547, 0.243), (1.0, 0.486, 0.292), (1.5, 0.282, 0.261)],
)
def test_empty_ticks_of_the_extended_mechanism_say_more_than_its_law(
    epsilon: float, printed: float, of_the_law: float
) -> None:
    """k = 5; a reader who knows which of the last ticks were empty."""
    mechanism = ExtendedThresholdPerturbation.for_budget(5, epsilon)
    paths = steady(mechanism).after(payloads(1, 4))
    for tick in range(5, 14):
        paths = seen_from_tick_5(paths.after(payloads(tick, tick)))
    paths = paths.after(payloads(14, 14))
    visible = paths.released[:, -1] > 0
    joint = posteriors(
        paths.released[visible, 4:-1], 14 - paths.released[visible, -1], paths.weight[visible]
    )
    assert mean_largest(joint) == pytest.approx(printed, abs=5e-4)
    assert mechanism.audit()["law_only"] == pytest.approx(of_the_law, abs=5e-4)
    assert mechanism.audit()["max_posterior_exchangeable"] == 1.0


def seen_from_tick_5(paths: Paths) -> Paths:
    """Paths with the same slots and the same empty ticks as one: what was released is 1 then."""
    seen = (paths.released > 0).astype(np.int64)
    seen[:, :4] = 0
    labels = [[int(value or 0) for value in row] for row in paths.state["slots"].tolist()]
    keys = np.concatenate([seen, labels, paths.state["occupied"]], axis=1)
    _, first, same = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    weight = np.zeros(len(first))
    np.add.at(weight, same.ravel(), paths.weight)
    state = {name: column[first] for name, column in paths.state.items()}
    return Paths(paths.mechanism, state, weight, seen[first])


def test_three_empty_ticks_of_the_extended_mechanism_can_give_a_delay_away() -> None:
    """k = 5, c0 = 4: one value waits; had it waited since before, it would have left."""
    mechanism = ExtendedThresholdPerturbation.for_budget(5, 1.0)
    paths = steady(mechanism).after(payloads(1, 8))
    after_three = (paths.released[:, 4:7] == 0).all(axis=1) & (paths.released[:, 7] > 0)
    delays = 8 - paths.released[after_three, 7]
    joint = posteriors(paths.released[after_three] > 0, delays, paths.weight[after_three])
    assert (joint.max(axis=1) / joint.sum(axis=1)).max() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("epsilon", "printed", "of_the_law"), [(1, 0.584, 0.355), (4, 0.917, 0.711)]
)
def test_repetitions_of_backward_perturbation_say_more_than_its_law(
    epsilon: float, printed: float, of_the_law: float
) -> None:
    """k = 4; a reader of the three releases before and of the three after."""
    mechanism = BackwardPerturbation(k=4, epsilon=epsilon)
    paths = steady(mechanism).after(payloads(1, 7))
    source = paths.released[:, 3]
    source = np.where(source >= FIRST_OLD, source - FIRST_OLD - 3, source)
    same = (paths.released[:, None, :] == paths.released[:, :, None]).argmax(axis=2)
    joint = posteriors(same, 4 - source, paths.weight)
    assert mean_largest(joint) == pytest.approx(printed, abs=5e-4)
    assert joint.sum(axis=0).max() == pytest.approx(of_the_law, abs=5e-4)
    whole = joint.max(axis=1) / joint.sum(axis=1)
    assert whole.max() == pytest.approx(1.0)


def test_empty_ticks_of_forward_perturbation_say_more_than_its_law() -> None:
    """k = 4, epsilon = 1; a reader who knows which of two ticks before, three after were empty."""
    mechanism = ForwardPerturbation(k=4, epsilon=1.0, calibrate="nominal", warm_up="emit")
    paths = Paths(mechanism, mechanism.start(1), np.ones(1), np.zeros((1, 0), dtype=np.int64))
    for tick in range(1, 10):
        paths = paths.after(payloads(tick, tick))
    visible = paths.released[:, 5] > 0
    delays = 6 - paths.released[visible, 5]
    joint = posteriors(paths.released[visible, 3:] > 0, delays, paths.weight[visible])
    assert mean_largest(joint) == pytest.approx(0.516, abs=5e-4)
    assert mean_largest(joint) > mechanism.delay_law.max()
    assert mechanism.audit()["max_posterior_exchangeable"] == 1.0
