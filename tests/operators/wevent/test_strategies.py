"""w-event strategies step by step: decisions, publications, and what is told about them."""

from dataclasses import replace
from math import exp, sqrt

import numpy as np
import pytest

from fugu.operators.auditing.noise_as_drawn import chosen
from fugu.operators.mechanism import Array, Floats, Inputs, Integers, Kind, Releases
from fugu.operators.randomness import DrawScope, Secret, record_positions
from fugu.operators.wevent.allocation import LARGEST_VALUE, Cap
from fugu.operators.wevent.pba import Flags, Markov, PrivacyBudgetAllocation, Released, Schedule
from fugu.operators.wevent.spread_strategies import (
    BudgetAbsorption,
    BudgetDistribution,
    Sample,
    Uniform,
)
from fugu.operators.wevent.strategy import Strategy
from tests.conformance.example import Example, Examples, Unusable
from tests.operators.noise.simulated import SimulatedDraws
from tests.operators.wevent.examples import COUNTS, UNUSABLE_STRATEGY, strategies, uniform

STRATEGIES = [Uniform, Sample, BudgetDistribution, BudgetAbsorption, PrivacyBudgetAllocation]
NAT = 2**40
ALWAYS = Schedule((True,))


def pba_examples(kind: type[PrivacyBudgetAllocation]) -> tuple[Example, ...]:
    sticky = ((0.9, 0.1), (0.1, 0.9))
    providers: list[Flags] = [
        ALWAYS,
        Schedule((False, True)),
        Markov(sticky, 0.9),
        Released(0.5),
    ]
    return (
        *strategies(kind),
        *(Example(kind(3, 5, 1.0, 1, flags=flags), COUNTS) for flags in providers),
    )


EXAMPLES: Examples = {
    **dict.fromkeys(STRATEGIES, strategies),
    Uniform: uniform,
    PrivacyBudgetAllocation: pba_examples,
}
UNUSABLE: Unusable = dict.fromkeys(STRATEGIES, UNUSABLE_STRATEGY)


def run(strategy: Strategy, truth: Integers, seed: int | None = None) -> list[Releases]:
    """All ticks of `truth (ticks, rows, bins)`, with keyed draws or with simulated ones."""
    state, released = strategy.start(truth.shape[1]), []
    scope = DrawScope(Secret(bytes(32)), "test", "wevent", 1, bytes(32))
    simulated = None if seed is None else SimulatedDraws(np.random.default_rng(seed))
    for tick, values in enumerate(truth):
        keys = [b"stream %d" % row for row in range(len(values))]
        draws = simulated or scope.draws(keys, record_positions("t", tick, range(len(values))))
        state, releases = strategy.step(state, Inputs(values), draws)
        released.append(releases)
    return released


def columns(released: list[Releases], name: str) -> Array:
    """An annotation, `(ticks, rows)`."""
    return np.stack([releases.annotations[name] for releases in released])


def walk(ticks: int, rows: int, bins: int, seed: int = 1) -> Integers:
    steps = np.random.default_rng(seed).integers(-30, 31, size=(ticks, rows, bins))
    return np.cumsum(steps, axis=0) + 200


def test_pba_with_all_flags_is_budget_distribution_draw_for_draw() -> None:
    truth = walk(ticks=60, rows=6, bins=5)
    distribution = BudgetDistribution(bins=5, window=7, epsilon=1.0, sensitivity=1)
    allocation = PrivacyBudgetAllocation(5, 7, 1.0, 1, flags=ALWAYS)
    published = 0
    for one, other in zip(run(distribution, truth), run(allocation, truth), strict=True):
        assert one.values.tolist() == other.values.tolist()
        for name, column in one.annotations.items():
            assert column.tobytes() == other.annotations[name].tobytes()
        published += int(one.annotations["published"].sum())
    assert 60 < published < 300


def test_pba_without_flags_spends_half_of_that_at_the_same_publications() -> None:
    """Vectors that are so far apart that every tick is published."""
    truth = 10**6 * walk(ticks=30, rows=2, bins=5)
    whole = run(BudgetDistribution(5, 7, 1.0, 1), truth)
    half = run(PrivacyBudgetAllocation(5, 7, 1.0, 1), truth)
    assert columns(whole, "published").all()
    assert columns(half, "published").all()
    units = [columns(one, "publication_epsilon") * NAT for one in (whole, half)]
    assert (units[1] == units[0] // 2).all()


@pytest.mark.parametrize("kind", STRATEGIES)
def test_no_window_is_charged_more_than_epsilon_and_everybody_is_told(
    kind: type[Strategy],
) -> None:
    released = run(kind(bins=3, window=6, epsilon=0.7, sensitivity=2), walk(50, 20, 3), seed=3)
    charged = columns(released, "decision_epsilon") + columns(released, "publication_epsilon")
    told = columns(released, "window_epsilon")
    for tick in range(50):
        window = charged[max(0, tick - 5) : tick + 1]
        assert np.array_equal(told[tick], window.sum(axis=0))
    assert 0.5 < told.max() <= 0.7
    fresh = np.array([releases.kinds for releases in released]) == Kind.FRESH
    assert (fresh == columns(released, "published")).all()
    assert ((columns(released, "publication_epsilon") > 0) == fresh).all()


DECIDING = [BudgetDistribution, BudgetAbsorption, PrivacyBudgetAllocation]


@pytest.mark.parametrize("kind", DECIDING)
@pytest.mark.parametrize(("bins", "sensitivity"), [(1, 1), (4, 2)])
def test_a_vector_is_published_exactly_if_the_noisy_distance_is_above_the_scale_of_new_noise(
    kind: type[Strategy], bins: int, sensitivity: int
) -> None:
    """L dis > L D / e2, for every noise around the limit, and with what the price cuts off."""
    strategy = kind(bins=bins, window=2, epsilon=1.0, sensitivity=sensitivity)
    offer = strategy.rule.offer(strategy.rule.start(1), np.zeros(1, dtype=bool))
    limit = bins * sensitivity * NAT // int(offer.publication[0])
    price = strategy.rule.decision // sensitivity
    noise = np.concatenate([np.arange(-3, 4) * price, np.arange(-2, 4) * price - 1])
    values = np.zeros((len(noise), bins), dtype=np.int64)
    values[:, 0], values[:, -1] = 5, limit if bins == 1 else limit - 5
    draws = chosen(noise, np.zeros((len(noise), bins), dtype=np.int64))
    _, releases = strategy.step(strategy.start(len(noise)), Inputs(values), draws)
    cut_off = np.sign(noise) * (np.abs(noise) // price)
    assert (releases.annotations["published"] == (cut_off > 0)).all()
    assert set(cut_off.tolist()) == {-3, -2, -1, 0, 1, 2, 3}


def test_a_publication_is_the_truth_with_noise_at_its_price_and_then_repeated() -> None:
    strategy = BudgetDistribution(bins=2, window=2, epsilon=1.0, sensitivity=2)
    price = NAT // 8
    release = np.array([[3 * price, -2 * price], [3 * price - 1, 1 - 2 * price]])
    values = np.array([[10**6, -(10**6)], [7, 10**6]])
    no_noise = np.zeros(2, dtype=np.int64)
    state, releases = strategy.step(strategy.start(2), Inputs(values), chosen(no_noise, release))
    assert releases.values.tolist() == [[10**6 + 3, -(10**6) - 2], [7 + 2, 10**6 - 1]]
    assert releases.annotations["standard_error"].tolist() == pytest.approx([8 * sqrt(2.0)] * 2)
    never = np.full(2, -(2**45))
    _, again = strategy.step(state, Inputs(values + 50), chosen(never, release))
    assert again.values.tolist() == releases.values.tolist()
    assert again.annotations["standard_error"].tolist() == pytest.approx([8 * sqrt(2.0)] * 2)
    assert again.annotations["publication_epsilon"].tolist() == [0.0, 0.0]


def test_before_the_first_publication_zeros_are_repeated() -> None:
    strategy = BudgetDistribution(bins=2, window=2, epsilon=1.0, sensitivity=1)
    values = np.array([[9, 9]])
    draws = chosen(np.array([-(2**45)]), np.zeros((1, 2), dtype=np.int64))
    _, releases = strategy.step(strategy.start(1), Inputs(values), draws)
    assert releases.values.tolist() == [[0, 0]]
    assert np.isnan(releases.annotations["standard_error"]).all()


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(1.0, 1), (1.0, 2), (8.0, 1), (0.02, 1000)])
def test_noise_is_as_large_as_the_budget_says(epsilon: float, sensitivity: int) -> None:
    """Mean 0 and variance 2 b^2, which is b = D / e2 on a grid; 4 standard errors."""
    rows, bins, window = 20, 1000, 4
    strategy = Uniform(bins, window, epsilon, sensitivity)
    truth = np.full((1, rows, bins), 12_345)
    [releases] = run(strategy, truth, seed=5)
    noise = (releases.values - truth[0]).ravel().astype(float)
    ratio = exp(-epsilon / window / sensitivity)
    variance = 2.0 * ratio / (1.0 - ratio) ** 2
    fourth = variance * (1.0 + 12.0 * variance / 2.0)
    spread = sqrt(fourth - variance**2)
    assert abs(noise.mean()) < 4.0 * sqrt(variance / noise.size)
    assert abs(noise.var() - variance) < 4.0 * spread / sqrt(noise.size)
    told = float(releases.annotations["standard_error"][0])
    assert told == pytest.approx(sqrt(2.0) * window * sensitivity / epsilon, rel=1e-6)


def test_decisions_are_as_noisy_as_their_budget_says() -> None:
    """A distance that is the limit is above it with the probability of positive noise."""
    strategy = BudgetDistribution(bins=3, window=2, epsilon=1.0, sensitivity=1)
    rows, ratio = 10_000, exp(-0.25)
    for beyond, expected in ((0, ratio / (1 + ratio)), (5, 1 - ratio**5 / (1 + ratio))):
        truth = np.zeros((1, rows, 3), dtype=np.int64)
        truth[..., 0] = 3 * 4 + beyond
        [releases] = run(strategy, truth, seed=6)
        share = releases.annotations["published"].mean()
        assert abs(share - expected) < 4.0 * sqrt(expected * (1 - expected) / rows)


def test_earlier_releases_flag_what_correlates() -> None:
    """Two publications that are alike flag the next tick; a third that is not takes it back."""
    strategy = PrivacyBudgetAllocation(3, 3, 1.0, 1, flags=Released(threshold=0.9))
    shapes = 10**8 * np.array([[1, 2, 3], [2, 4, 7], [9, 1, 1], [9, 1, 1], [8, 0, 0]])
    no_noise = chosen(np.zeros(1, dtype=np.int64), np.zeros((1, 3), dtype=np.int64))
    state, flagged, published = strategy.start(1), [], []
    for shape in shapes:
        flagged.append(bool(state["correlated"][0]))
        state, releases = strategy.step(state, Inputs(shape[None]), no_noise)
        published += releases.annotations["published"].tolist()
    assert published == [True, True, True, False, True]
    assert flagged == [False, False, True, False, False]
    assert state["correlated"][0], "the fifth vector is like the third, the last one published"


def test_schedules_count_ticks() -> None:
    strategy = PrivacyBudgetAllocation(1, 1, 1.0, 1, flags=Schedule((False, False, True)))
    released = run(strategy, 10**9 * walk(7, 1, 1))
    assert columns(released, "publication_epsilon")[:, 0].tolist() == [
        0.125, 0.125, 0.25, 0.125, 0.125, 0.25, 0.125,
    ]  # fmt: skip


def test_a_cap_is_a_limit_per_tick() -> None:
    cap = Cap(decision=NAT // 50, publication=NAT // 20)
    for kind in DECIDING:
        capped = run(kind(2, 5, 1.0, 1, cap=cap), 10**6 * walk(20, 3, 2))
        assert (columns(capped, "decision_epsilon") * NAT == cap.decision).all()
        assert columns(capped, "publication_epsilon").max() * NAT == cap.publication


def test_values_are_clamped_to_what_sums_can_take() -> None:
    strategy = Uniform(bins=2, window=1, epsilon=20.0, sensitivity=1)
    [releases] = run(strategy, np.array([[[2**62, -(2**62)]]]))
    assert np.abs(np.abs(releases.values) - LARGEST_VALUE).max() < 10


def test_many_rows_with_one_bin_and_one_row_with_many_bins() -> None:
    for rows, bins in ((100_000, 1), (1, 2**15)):
        strategy = BudgetDistribution(bins=bins, window=3, epsilon=1.0, sensitivity=1)
        values = np.full((rows, bins), 1000)
        draws = SimulatedDraws(np.random.default_rng(1))
        _, releases = strategy.step(strategy.start(rows), Inputs(values), draws)
        assert releases.annotations["published"].all()
        assert abs(releases.values.mean() - 1000) < 1


@pytest.mark.parametrize("values", [np.zeros(3, int), np.zeros((3, 2), int), np.zeros((3, 1))])
def test_what_is_no_vector_of_integers_is_refused(values: Floats) -> None:
    strategy = Uniform(bins=1, window=1, epsilon=1.0, sensitivity=1)
    with pytest.raises(ValueError, match=r"^values must be "):
        strategy.step(strategy.start(3), Inputs(values), SimulatedDraws(np.random.default_rng(1)))


def test_budgets_below_the_resolution_are_refused() -> None:
    good = BudgetDistribution(bins=1, window=10, epsilon=1.0, sensitivity=10**6)
    with pytest.raises(ValueError, match=r"^epsilon: .* give at least 1\.81899e-05 nats"):
        replace(good, epsilon=1e-5)
    with pytest.raises(ValueError, match=r"^cap: .* 9\.09495e-07 nats"):
        replace(good, cap=Cap(2**40, 2**10))
