"""PeGaSus: noise, groups and medians against a plain second implementation."""

from dataclasses import dataclass, field
from statistics import median

import numpy as np
import pytest

from fugu.operators.auditing.noise_as_drawn import ChosenNoise
from fugu.operators.mechanism import Inputs, Integers
from fugu.operators.wevent.pegasus import LONGEST, Pegasus
from fugu.operators.wevent.spread_strategies import Uniform
from tests.conformance.example import Example, Examples, Unusable
from tests.operators.noise.simulated import SimulatedDraws
from tests.operators.wevent.examples import COUNTS, UNUSABLE_STRATEGY
from tests.operators.wevent.test_allocation import NAT

TICKS = 160


def examples(kind: type[Pegasus]) -> tuple[Example, ...]:
    return (
        Example(kind(3, window=4, epsilon=1.0, sensitivity=1), COUNTS),
        Example(kind(3, window=4, epsilon=1.0, sensitivity=2), COUNTS),
        Example(kind(1, window=1, epsilon=0.1, sensitivity=10**6), 10**7 * COUNTS[:, :1]),
        Example(kind(2, window=3, epsilon=20.0, sensitivity=1), COUNTS[:, 1:] - 200),
    )


EXAMPLES: Examples = {Pegasus: examples}
UNUSABLE: Unusable = {Pegasus: UNUSABLE_STRATEGY}


@dataclass
class Plain:
    """PeGaSus on one bin, as the specification writes it, with noise that is given."""

    theta: float
    figures: list[int] = field(default_factory=list)
    noisy: list[int] = field(default_factory=list)
    threshold: float = 0.0
    is_open: bool = False

    def tick(self, figure: int, noise: int, for_threshold: int, for_test: int) -> float:
        longer = [*self.figures, figure]
        mean = sum(longer) / len(longer)
        deviation = sum(abs(one - mean) for one in longer)
        if not self.is_open:
            self.figures, self.noisy, self.is_open = [figure], [figure + noise], True
            self.threshold = self.theta + for_threshold
        elif int(deviation + 1e-6) + for_test < self.threshold:
            self.figures, self.noisy = longer, [*self.noisy, figure + noise]
            self.is_open = len(longer) < LONGEST
        else:
            self.figures, self.noisy, self.is_open = [figure], [figure + noise], False
        return median(self.noisy)


@pytest.mark.parametrize(
    ("size", "sensitivity", "loud"), [(0, 1, 0.0), (0, 1, 1.0), (2, 3, 1.0), (40, 1, 1.0)]
)
def test_groups_and_medians_are_those_of_a_plain_implementation(
    size: int, sensitivity: int, loud: float
) -> None:
    """Figures that rest, move a little, and move much; without noise groups grow full."""
    rng, rows, bins, window, epsilon = np.random.default_rng(size), 3, 2, 4, 20.0
    pegasus = Pegasus(bins, window, epsilon, sensitivity)
    grouping = epsilon / window / 5
    theta = 5 * sensitivity / grouping
    assert pegasus.reach == pytest.approx(theta, abs=1)
    plains = [[Plain(pegasus.reach) for _ in range(bins)] for _ in range(rows)]
    truth = 1000 + np.cumsum(rng.integers(-size, size + 1, (TICKS, rows, bins)), axis=0)
    state, sizes = pegasus.start(rows), set()
    scales = {"release": 1 / 4, "threshold": 4.0, "deviation": 8.0}
    prices = {
        "release": (pegasus.share - pegasus.grouping) // sensitivity,
        "threshold": pegasus.grouping // (4 * sensitivity),
        "deviation": pegasus.grouping // (8 * sensitivity),
    }
    for values in truth:
        noise = {
            name: np.rint(
                loud * rng.laplace(scale=scale * sensitivity / grouping, size=(rows, bins))
            ).astype(np.int64)
            for name, scale in scales.items()
        }
        draws = ChosenNoise({name: noise[name] * prices[name] for name in noise})
        state, releases = pegasus.step(state, Inputs(values), draws)
        for row, plain in enumerate(plains):
            for place, one in enumerate(plain):
                drawn = [int(noise[name][row, place]) for name in scales]
                expected = one.tick(int(values[row, place]), *drawn)
                assert releases.values[row, place] == np.floor(expected)
                assert state["size"][row, place] == len(one.figures)
                assert state["open"][row, place] == one.is_open
                sizes.add(len(one.figures))
    assert 1 in sizes
    assert (max(sizes) == LONGEST) == (loud == 0.0)


def run(mechanism: Pegasus | Uniform, truth: Integers, seed: int) -> Integers:
    state, draws = mechanism.start(40), SimulatedDraws(np.random.default_rng(seed))
    released = []
    for value in truth.tolist():
        state, releases = mechanism.step(state, Inputs(np.full((40, 1), value)), draws)
        released.append(releases.values[:, 0])
    return np.array(released)


def test_figures_that_rest_err_less_than_with_noise_alone() -> None:
    """By a fifth: the noise of tests is more than their threshold, so that groups end early."""
    truth = np.full(TICKS, 500)
    grouped, alone = (
        np.abs(run(kind(1, 4, 1.0, 1), truth, 1) - 500).mean() for kind in (Pegasus, Uniform)
    )
    assert 0.7 * alone < grouped < 0.85 * alone


def test_a_jump_ends_a_group() -> None:
    truth = np.where(np.arange(TICKS) < 50, 500, 10**6)
    after = run(Pegasus(1, 4, 1.0, 1), truth, 2)[50]
    assert np.abs(after - 10**6).max() < 200


def test_a_closed_group_remembers_no_figure() -> None:
    pegasus, draws = Pegasus(1, 4, 1.0, 1), SimulatedDraws(np.random.default_rng(3))
    state = pegasus.start(1)
    for value in (500, 500, 10**6):
        state, _ = pegasus.step(state, Inputs(np.array([[value]])), draws)
    assert not state["open"].any()
    assert not state["figures"].any()
    assert not state["noisy"].any()


def test_any_window_is_charged_epsilon_at_most() -> None:
    for window in (1, 3, 7, 100):
        pegasus = Pegasus(1, window, 1.0, 1)
        assert NAT - window < window * pegasus.share <= NAT
        assert 0.8 * pegasus.share <= pegasus.share - pegasus.grouping < 0.8 * pegasus.share + 1
