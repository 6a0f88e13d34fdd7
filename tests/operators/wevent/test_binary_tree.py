"""Running totals: blocks, what they cost, and how noisy totals and their differences are."""

from math import sqrt

import numpy as np
import pytest

from fugu.operators.auditing.noise_as_drawn import ChosenNoise
from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.mechanism import Inputs, Integers, Kind, State
from fugu.operators.wevent.binary_tree import BinaryTree
from tests.conformance.example import Example, Examples, Unusable
from tests.operators.noise.simulated import SimulatedDraws
from tests.operators.wevent.examples import COUNTS, UNUSABLE_STRATEGY


def examples(kind: type[BinaryTree]) -> tuple[Example, ...]:
    return (
        Example(kind(3, window=1, epsilon=1.0, sensitivity=2, horizon=100), COUNTS),
        Example(kind(1, window=7, epsilon=0.1, sensitivity=10**6, horizon=7), COUNTS[:, :1]),
        Example(kind(2, window=3, epsilon=5.0, sensitivity=1, horizon=8), COUNTS[:, 1:]),
    )


EXAMPLES: Examples = {BinaryTree: examples}
UNUSABLE: Unusable = {BinaryTree: {**UNUSABLE_STRATEGY, "horizon": (0, -1, 2**16 + 1)}}


def without_noise(tree: BinaryTree, truth: Integers) -> tuple[list[Integers], list[State]]:
    """Totals and states of `truth (ticks, rows, bins)`."""
    state, totals, states = tree.start(truth.shape[1]), [], []
    for values in truth:
        draws = ChosenNoise({"release": np.zeros((len(values), tree.bins), dtype=np.int64)})
        state, releases = tree.step(state, Inputs(values), draws)
        totals.append(releases.values)
        states.append(state)
    return totals, states


def closed_blocks(states: list[State]) -> Integers:
    """The exact sum of the block that each tick closes, `(ticks, rows, bins)`."""
    ticks = range(1, len(states) + 1)
    lowest = [(tick & -tick).bit_length() - 1 for tick in ticks]
    return np.stack([s["sums"][:, level] for s, level in zip(states, lowest, strict=True)])


@pytest.mark.parametrize("horizon", [1, 2, 7, 8, 21])
def test_without_noise_totals_are_exact_up_to_the_horizon_and_stay(horizon: int) -> None:
    truth = np.random.default_rng(horizon).integers(-50, 50, size=(horizon + 3, 4, 2))
    totals, _ = without_noise(BinaryTree(2, 1, 20.0, 1, horizon), truth)
    expected = np.cumsum(truth, axis=0)
    assert np.array_equal(np.stack(totals[:horizon]), expected[:horizon])
    for total in totals[horizon:]:
        assert np.array_equal(total, expected[horizon - 1])


@pytest.mark.parametrize(("horizon", "window"), [(8, 1), (8, 3), (8, 8), (13, 2), (16, 4), (31, 1)])
def test_what_a_window_changes_in_all_blocks_costs_at_most_epsilon(
    horizon: int, window: int
) -> None:
    """Every window, changed by the whole sensitivity at each tick, against the price of noise."""
    tree = BinaryTree(1, window, 2.0, sensitivity=3, horizon=horizon)
    first = np.arange(horizon - window + 1)
    ticks = np.arange(horizon)[:, None]
    changed = (ticks >= first) & (ticks < first + window)
    _, before = without_noise(tree, np.zeros((horizon, len(first), 1), dtype=np.int64))
    _, after = without_noise(tree, 3 * changed[..., None].astype(np.int64))
    distance = np.abs(closed_blocks(after) - closed_blocks(before)).sum(axis=(0, 2))
    cost = distance * (tree.block_charge // tree.sensitivity) / UNITS_PER_NAT
    assert cost.max() <= 2.0
    if window == 1:
        assert cost.max() == pytest.approx(2.0, rel=1e-9), "the first tick lies in all blocks"


def test_a_total_is_as_noisy_as_its_blocks_and_user_level_is_worse_than_noise_per_tick() -> None:
    """The noise of 1,000 ticks: differences of totals have about two blocks of it each, so with a
    window of the whole horizon they are 14 times as noisy as plain noise for the same promise."""
    ticks, rows = 1000, 40
    tree = BinaryTree(1, window=1, epsilon=1.0, sensitivity=1, horizon=ticks)
    state, draws = tree.start(rows), SimulatedDraws(np.random.default_rng(8))
    totals = [np.zeros((rows, 1), dtype=np.int64)]
    for tick in range(1, ticks + 1):
        state, releases = tree.step(state, Inputs(np.zeros((rows, 1), dtype=np.int64)), draws)
        totals.append(releases.values)
        told = releases.annotations["standard_error"]
        assert told == pytest.approx(np.full(rows, 10 * sqrt(2 * tick.bit_count())), rel=1e-6)
    noise = np.stack(totals)[..., 0]
    differences = np.diff(noise, axis=0)
    plain = sqrt(2.0)
    assert sqrt((differences**2).mean()) / plain == pytest.approx(14.1, rel=0.03)
    assert sqrt((noise[-1] ** 2).mean()) == pytest.approx(10 * sqrt(2 * 6), rel=0.35)


def test_everybody_is_told_what_a_window_spends() -> None:
    tree = BinaryTree(1, window=3, epsilon=0.6, sensitivity=1, horizon=5)
    state, told, kinds = tree.start(1), [], []
    for _ in range(8):
        draws = ChosenNoise({"release": np.zeros((1, 1), dtype=np.int64)})
        state, releases = tree.step(state, Inputs(np.ones((1, 1), dtype=np.int64)), draws)
        told += releases.annotations["window_epsilon"].tolist()
        kinds += np.asarray(releases.kinds).tolist()
    assert told == pytest.approx([0.2, 0.4, 0.6, 0.6, 0.6, 0.4, 0.2, 0.0], abs=1e-10)
    assert max(told) <= 0.6
    assert kinds == [Kind.FRESH] * 5 + [Kind.REPEATED] * 3
    assert state["spent"].tolist() == [5 * tree.tick_charge]


def test_levels_of_privacy_are_told_apart() -> None:
    windows, horizon = BinaryTree(1, 1, 1.0, 1, 64).guarantees()
    assert (windows.notion, windows.per, windows.window) == ("w-event-dp", "window", 1)
    assert (horizon.notion, horizon.per, horizon.window) == ("dp", "stream", None)
    assert horizon.epsilon == pytest.approx(64.0)
    [user_level] = BinaryTree(1, 64, 1.0, 1, 64).guarantees()
    assert user_level.window == 64
