"""RescueDP: budgets, samples, filter and controller against a plain second implementation."""

from dataclasses import dataclass, field
from math import inf, log, nan

import numpy as np
import pytest

from fugu.operators.auditing.noise_as_drawn import ChosenNoise
from fugu.operators.mechanism import Inputs, Integers
from fugu.operators.wevent.rescue_dp import ONE_TICK, RescueDp, Shares
from tests.conformance.example import Example, Examples, Unusable
from tests.operators.noise.simulated import SimulatedDraws
from tests.operators.wevent.examples import COUNTS, UNUSABLE_STRATEGY, strategies
from tests.operators.wevent.test_allocation import NAT

TICKS, BINS = 150, 4


def examples(kind: type[RescueDp]) -> tuple[Example, ...]:
    smooth = kind(2, window=5, epsilon=1.0, sensitivity=1, process_variance=0.5)
    return (*strategies(kind), Example(smooth, COUNTS[:, 1:]))


EXAMPLES: Examples = {RescueDp: examples}
UNUSABLE: Unusable = {
    RescueDp: {
        **UNUSABLE_STRATEGY,
        "contribution": (0, -1, 2**44 + 1),
        "process_variance": (-1.0, nan, inf, 1e19),
    },
}


@dataclass
class Plain:
    """RescueDP over several bins on one schedule, as the specification writes it: real numbers."""

    window: int
    epsilon: float
    sensitivity: float
    process: float
    spent: list[float] = field(default_factory=list)
    estimate: list[float] = field(default_factory=list)
    variance: float = 100.0
    errors: list[float] = field(default_factory=list)
    interval: float = 1.0
    due: int = 0

    def left(self) -> float:
        return self.epsilon - sum(self.spent[::-1][: self.window - 1])

    def tick(self, tick: int, sample: list[float]) -> None:
        self.variance += self.process if tick else 0.0
        if tick != self.due:
            self.spent.append(0.0)
            return
        share = min(0.2 * log(self.interval + 1.0), 0.6)
        self.spent.append(min(share * self.left(), self.epsilon / 5))
        if not tick:
            self.estimate, self.due = sample, 1
            return
        noise = (self.sensitivity * self.window / self.epsilon) ** 2
        gain = self.variance / (self.variance + noise)
        before = self.estimate
        self.estimate = [x + gain * (z - x) for x, z in zip(before, sample, strict=True)]
        self.variance *= 1 - gain
        moved = [abs(x - y) for x, y in zip(self.estimate, before, strict=True)]
        self.errors.append(sum(moved) / len(moved))
        last = self.errors[-3:]
        seen = 0.9 * last[-1] + 0.1 * sum(last) / len(last)
        scale = self.sensitivity / min(self.left(), self.epsilon / 5)
        self.interval = max(1.0, self.interval + 10.0 * (1.0 - (seen / scale) ** 2))
        self.due = tick + int(self.interval)


@pytest.mark.parametrize(
    ("window", "size", "process"), [(1, 20, 9.0), (8, 2, 5.0), (8, 400, 1e4), (40, 3, 2.0)]
)
def test_budgets_samples_and_estimates_are_those_of_a_plain_implementation(
    window: int, size: int, process: float
) -> None:
    """Figures that move little, some and much, with noise at its price; intervals come and go."""
    rng, rows = np.random.default_rng(size), 6
    rescue = RescueDp(BINS, window, 2.0, 2, process_variance=process)
    plains = [Plain(window, 2.0, 2.0, process) for _ in range(rows)]
    truth = 1000 + np.cumsum(rng.integers(-size, size + 1, (TICKS, rows, BINS)), axis=0)
    state, intervals = rescue.start(rows), set()
    for tick, values in enumerate(truth):
        offered = rescue.rule.offer(state, np.zeros(rows, dtype=bool)).publication
        price = np.maximum(offered // 2, 1)[:, None]
        scale = np.where(offered > 0, NAT // price[:, 0], 0)[:, None]
        noise = np.rint(rng.laplace(size=(rows, BINS)) * scale).astype(np.int64)
        draws = ChosenNoise({"release": noise * price})
        state, releases = rescue.step(state, Inputs(values), draws)
        for row, plain in enumerate(plains):
            plain.tick(tick, (values + noise)[row].astype(float).tolist())
            assert releases.annotations["published"][row] == (plain.spent[-1] > 0)
            assert offered[row] / NAT == pytest.approx(plain.spent[-1], rel=1e-4)
            assert state["estimate"][row].tolist() == pytest.approx(plain.estimate, rel=1e-9)
            assert state["interval"][row] / ONE_TICK == pytest.approx(plain.interval, rel=1e-3)
            assert releases.values[row].tolist() == np.rint(state["estimate"][row]).tolist()
            intervals.add(int(plain.interval))
    assert size == 400 or max(intervals) > 5
    assert min(intervals) == 1


@pytest.mark.parametrize("window", [1, 2, 8, 30])
def test_whenever_samples_are_due_no_window_is_charged_more_than_said(window: int) -> None:
    """Intervals, long and short, and due ticks that are no function of anything."""
    rule, rng, charges = Shares(window, NAT), np.random.default_rng(window), []
    state = rule.start(500)
    longest = np.arange(500) == 0
    for _ in range(80):
        interval = ONE_TICK * np.where(longest, 10**6, rng.integers(1, 40, size=500))
        state = {**state, "interval": interval}
        offer = rule.offer(state, np.zeros(500, dtype=bool))
        due = state["tick"] + np.where(longest, 1, rng.integers(0, 3, size=500))
        state = {**rule.settle(state, offer, offer.publication > 0), "due": due}
        charges.append(offer.publication)
    running = np.cumsum([*([0 * charges[0]] * window), *charges], axis=0)
    assert (running[window:] - running[:-window]).max() == rule.most <= NAT


ADVERSE = {
    "far apart": np.where(np.arange(TICKS) % 2, 2**44, -(2**44)),
    "always the same": np.zeros(TICKS, dtype=np.int64),
    "quiet, then a jump at every sample": 10**6 * (np.arange(TICKS) // 30) ** 3,
    "anything": np.random.default_rng(3).integers(-(2**44), 2**44, TICKS),
}


@pytest.mark.parametrize("truth", ADVERSE.values(), ids=ADVERSE)
@pytest.mark.parametrize("process", [1e-6, 0.0, 1e18])
def test_whatever_the_figures_are_no_window_spends_more_than_epsilon(
    truth: Integers, process: float
) -> None:
    rescue = RescueDp(2, 6, 0.7, 1, process_variance=process)
    state, draws, spent = rescue.start(20), SimulatedDraws(np.random.default_rng(4)), []
    for value in truth.tolist():
        state, releases = rescue.step(state, Inputs(np.full((20, 2), value)), draws)
        spent.append(releases.annotations["publication_epsilon"])
    windows = np.array([sum(spent[tick : tick + 6]) for tick in range(TICKS - 5)])
    assert 0.09 < windows.max() <= rescue.rule.most / NAT <= 0.7


def test_where_too_little_is_left_for_a_grid_step_the_next_tick_samples() -> None:
    rule = Shares(4, NAT, smallest=NAT // 9)
    state, offered = rule.start(1), []
    for _ in range(9):
        offer = rule.offer(state, np.zeros(1, dtype=bool))
        sampled = offer.publication > 0
        due = np.where(sampled, state["tick"] + 1, state["due"])
        state = {**state, **rule.settle(state, offer, sampled), "due": due}
        offered.append(bool(offer.publication[0]))
    assert offered == [True, True, False, False, True, True, False, False, True]
