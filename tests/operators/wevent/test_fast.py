"""Strategies with a filter: their constants go with what is counted."""

from dataclasses import dataclass, field
from math import exp, inf, nan, trunc

import numpy as np
import pytest

from fugu.operators.auditing.noise_as_drawn import ChosenNoise
from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.mechanism import Inputs, Releases
from fugu.operators.wevent.allocation import Cap
from fugu.operators.wevent.fast import Blocks, Fast, FilteredStrategy
from fugu.operators.wevent.rescue_dp import RescueDp
from tests.conformance.example import Example, Examples, Unusable
from tests.operators.wevent.examples import COUNTS, UNUSABLE_STRATEGY
from tests.operators.wevent.test_allocation import NAT

TICKS = 120


@pytest.mark.parametrize("kind", [Fast, RescueDp])
def test_figures_counted_in_other_units_are_filtered_alike(kind: type[FilteredStrategy]) -> None:
    """Sums in hundredths, as sums in wholes: the same samples and the same estimates."""
    rng = np.random.default_rng(3)
    truth = 1000 + np.cumsum(rng.integers(-40, 41, (TICKS, 1, 2)), axis=0)
    none = ChosenNoise({"release": np.zeros((1, 2), dtype=np.int64)})
    runs = []
    for units in (1, 100):
        strategy = kind(2, 60, 20.0, 5 * units, contribution=5 * units)
        state, sampled, estimates = strategy.start(1), [], []
        for values in truth:
            state, releases = strategy.step(state, Inputs(values * units), none)
            sampled.append(bool(releases.annotations["published"][0]))
            estimates.append(state["estimate"][0] / units)
        runs.append((sampled, np.array(estimates)))
    (one_sampled, one), (other_sampled, other) = runs
    assert one_sampled == other_sampled
    assert 3 < sum(one_sampled) < TICKS
    assert other == pytest.approx(one, rel=1e-6)


# FAST: samples, filter and controller against a plain second implementation.


WINDOW, SAMPLES = 60, 25


def examples(kind: type[Fast]) -> tuple[Example, ...]:
    often = kind(3, 10, 5.0, 1, samples=9, process_variance=10.0, measurement_variance=1000.0)
    large = kind(1, 1, 0.1, 10**6, cap=Cap(2**38, 2**35), contribution=10**6)
    return (
        Example(kind(3, window=4, epsilon=1.0, sensitivity=2), COUNTS),
        Example(often, COUNTS),
        Example(large, 10**7 * COUNTS[:, :1]),
    )


EXAMPLES: Examples = {Fast: examples}
UNUSABLE: Unusable = {
    Fast: {
        **UNUSABLE_STRATEGY,
        "contribution": (0, -1, 2**44 + 1),
        "samples": (-1, 10**4 + 1),
        "process_variance": (0.0, -1.0, nan, inf),
        "measurement_variance": (0.0, -1.0, nan, inf),
    },
}


@dataclass
class Plain:
    """One block of FAST over several bins, as the specification writes it."""

    process: float
    measurement: float
    estimate: list[float] = field(default_factory=list)
    variance: float = 100.0
    errors: list[float] = field(default_factory=list)
    interval: int = 1
    taken: int = 0
    due: int = 0

    def tick(self, tick: int, sample: list[float]) -> bool:
        if self.taken:
            self.variance += self.process
        if tick != self.due or self.taken == SAMPLES:
            return False
        self.taken += 1
        if self.taken == 1:
            self.estimate, error = sample, 0.0
        else:
            gain = self.variance / (self.variance + self.measurement)
            before = self.estimate
            self.estimate = [x + gain * (z - x) for x, z in zip(before, sample, strict=True)]
            self.variance *= 1 - gain
            moved = zip(self.estimate, before, strict=True)
            error = sum(abs(x - y) / max(x, 1.0) for x, y in moved) / len(sample)
        self.errors.append(error)
        if self.taken > 5:
            seen = 0.9 * error + 0.1 / 5 * sum(self.errors[-5:])
            change = trunc(5 * (1 - exp((seen - 0.1) / 0.1)))
            self.interval = max(1, self.interval + change)
        self.due = tick + self.interval
        return True


def releases_of(fast: Fast, truth: np.ndarray, noise: np.ndarray) -> list[Releases]:
    """With chosen noise, `(ticks, rows, bins)` in units."""
    price = fast.rule.epsilon // 2 // fast.samples_per_block // fast.sensitivity
    state, released = fast.start(truth.shape[1]), []
    for values, added in zip(truth, noise, strict=True):
        draws = ChosenNoise({"release": added * price})
        state, releases = fast.step(state, Inputs(values), draws)
        released.append(releases)
    return released


@pytest.mark.parametrize("size", [3, 40, 400])
def test_samples_and_estimates_are_those_of_a_plain_implementation(size: int) -> None:
    """Two blocks of rows that move little, some and much; intervals grow and shrink."""
    rng = np.random.default_rng(size)
    shape = (2 * WINDOW, 6, 4)
    truth = np.abs(1000 + np.cumsum(rng.integers(-size, size + 1, shape), axis=0))
    noise = rng.integers(-30, 31, shape)
    fast = Fast(4, WINDOW, 20.0, 1, None, SAMPLES, process_variance=20.0, measurement_variance=90.0)
    released = releases_of(fast, truth, noise)
    changes = set()
    for row in range(6):
        for tick in range(2 * WINDOW):
            if tick % WINDOW == 0:
                plain = Plain(process=20.0, measurement=90.0)
            before, sample = plain.interval, (truth + noise)[tick, row].astype(float).tolist()
            sampled = plain.tick(tick % WINDOW, sample)
            assert released[tick].annotations["published"][row] == sampled
            assert released[tick].values[row].tolist() == np.rint(plain.estimate).tolist()
            changes.add(plain.interval - before)
    assert max(changes) >= 1
    assert size < 400 or min(changes) <= -2


def test_a_block_spends_half_and_a_window_at_most_all_of_epsilon() -> None:
    fast = Fast(bins=1, window=8, epsilon=1.0, sensitivity=1, samples=3)
    truth = np.full((24, 1, 1), 500)
    spent = [one.annotations["window_epsilon"][0] for one in releases_of(fast, truth, 0 * truth)]
    sample = (UNITS_PER_NAT // 2 // 3) / UNITS_PER_NAT
    assert spent[:4] == pytest.approx([sample, 2 * sample, 3 * sample, 3 * sample], abs=1e-12)
    assert max(spent) == 3 * sample


def test_whenever_samples_are_due_no_window_is_charged_more_than_said() -> None:
    rule, rng, charges = Blocks(8, NAT, samples=3), np.random.default_rng(1), []
    state = rule.start(2000)
    for _ in range(40):
        offer = rule.offer(state, np.zeros(2000, dtype=bool))
        due = state["tick"] + rng.integers(0, 3, size=2000)
        state = {**rule.settle(state, offer, offer.publication > 0), "due": due}
        charges.append(offer.publication)
    running = np.cumsum([0 * charges[0], *charges], axis=0)
    assert (running[8:] - running[:-8]).max() == rule.most == 5 * (NAT // 6)


def test_by_default_a_block_has_a_sample_in_thirteen_ticks() -> None:
    samples = [Fast(1, window, 1.0, 1).samples_per_block for window in (1, 13, 40, 100, 1000)]
    assert samples == [1, 1, 3, 7, 75]
