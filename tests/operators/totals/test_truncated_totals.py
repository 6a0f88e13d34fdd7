"""ToPS: the rules of the authors' code, and totals that are cut off at the threshold."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

import numpy as np
import pytest

from fugu.operators.mechanism import Floats, Inputs, Integers, Kind, Releases, Words
from fugu.operators.noise.unit_laplace import TOTAL_VARIATION
from fugu.operators.randomness import DrawScope, Secret, record_positions
from fugu.operators.totals.truncated_totals import (
    EXCESS,
    FAN_OUT,
    STEPS_PER_COUNT,
    Tree,
    TruncatedTotals,
)


@dataclass(frozen=True)
class Silent:
    """Words with which no noise is drawn."""

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        return np.broadcast_to(np.uint64(2**64 - 1), (len(binding), coordinates, count))


def released(tops: TruncatedTotals, values: Integers, seed: int) -> Releases:
    secret = Secret(seed.to_bytes(32, "big"))
    scope = DrawScope(secret, "test", tops.kind, 1, tops.law_digest())
    positions = record_positions("numbers", 0, range(len(values)))
    draws = scope.draws([b"user-%d" % number for number in range(len(values))], positions)
    return tops.step({}, Inputs(values), draws)[1]


def without_noise(tops: TruncatedTotals, values: Integers) -> tuple[Floats, float]:
    """Return releases of later numbers and the threshold."""
    _, releases = tops.step({}, Inputs(values), Silent())
    return releases.values[tops.first :], float(releases.annotations["threshold"][0])


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 4.0])
@pytest.mark.parametrize("later", [1, 100, 2_700, 50_000, 1_000_000])
def test_the_tree_errs_least_of_all_powers(epsilon: float, later: int) -> None:
    """The authors minimise 2 (b - 1) levels^3 / eps^2 + leaf^2 / 36, and round the leaf to a power
    of b; whole levels are tried here."""
    tops, errors = TruncatedTotals(0, 1000, epsilon, 1, 100), {}
    for power in range(8):
        leaf = FAN_OUT**power
        if leaf <= later:
            levels = max(1, int(log(later / leaf, FAN_OUT) + 1e-9))
            errors[Tree(leaf, levels)] = 30 * levels**3 / epsilon**2 + leaf**2 / 36
    assert tops.tree(later) == min(errors, key=errors.__getitem__)


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_scores_count_numbers_beyond_and_subtract_what_noise_is_worth(epsilon: float) -> None:
    """The quality of the authors' code, with a part of the range in the place of 60 units."""
    first, later = np.random.default_rng(1).integers(0, 5000, 300), 9_000
    tops = TruncatedTotals(0, 5000, epsilon, 1, len(first))
    noise = sqrt(2 * (FAN_OUT - 1) * tops.tree(later).levels ** 3) / epsilon
    worth = 3 * noise * len(first) / later / (5000 // EXCESS)
    scores = tops.scores(first, later)
    for end, score in zip(tops.ends.tolist(), scores.tolist(), strict=True):
        plain = -int((first > end).sum()) - min(worth * end, len(first) + 1)
        assert score / STEPS_PER_COUNT == pytest.approx(plain, abs=0.5 / STEPS_PER_COUNT + 1e-9)


@pytest.mark.parametrize("kind", [TruncatedTotals])
def test_numbers_beyond_the_threshold_count_as_it(
    kind: type[TruncatedTotals],
) -> None:
    tops = kind(10, 1010, 8.0, 2, 200)
    values = np.concatenate([np.full(200, 40), np.full(64, 1010), np.full(64, 20)])
    told, threshold = without_noise(tops, values)
    assert 20.0 <= threshold < 30.0
    assert told[:64].sum() == pytest.approx(64 * threshold)
    assert told[64:].sum() == pytest.approx(64 * 10.0)


def test_totals_after_each_leaf_are_those_of_the_fewest_nodes() -> None:
    tops = TruncatedTotals(0, 1000, 1.0, 1, 100)
    values = np.random.default_rng(5).integers(0, 1000, 100 + 9_000)
    assert tops.tree(9_000) == Tree(16, 2)
    told, threshold = without_noise(tops, values)
    exact = np.minimum(values[100:], threshold)
    leaves = np.arange(16, 9_000, 16)
    totals = np.cumsum(told)[leaves - 1]
    assert totals == pytest.approx(np.cumsum(exact)[leaves - 1])
    assert told[16:31] == pytest.approx(np.full(15, exact[:16].mean()))
    assert told[:15] == pytest.approx(np.full(15, threshold / 2.0))


def test_the_first_numbers_have_no_release_and_totals_are_right_up_to_the_noise() -> None:
    """A leaf has noise of the scale that its price says: mean and variance of 400 of them."""
    tops = TruncatedTotals(0, 500, 1.0, 1, 400)
    rng, noise = np.random.default_rng(3), []
    for seed in range(4):
        values = rng.integers(0, 40, 400 + 1_600)
        releases = released(tops, values, seed)
        assert releases.kinds is not None
        assert (releases.kinds[:400] == Kind.SUPPRESSED).all()
        assert (releases.kinds[400:] == Kind.FRESH).all()
        end = int(releases.annotations["threshold"][0])
        assert tops.tree(1_600) == Tree(16, 1)
        leaves = (releases.values[400:] - np.minimum(values[400:], end)).reshape(-1, 16).sum(axis=1)
        noise += (leaves / end).tolist()
    assert np.mean(noise) == pytest.approx(0.0, abs=4.0 * sqrt(2.0 / len(noise)))
    assert np.var(noise) == pytest.approx(2.0, abs=4.0 * 2.0 * sqrt(5.0 / len(noise)))


def test_its_threshold_follows_the_numbers_and_not_the_range() -> None:
    values = np.random.default_rng(4).integers(0, 40, 5_000)
    releases = released(TruncatedTotals(0, 100_000, 1.0, 1, 1_000), values, seed=1)
    assert 40 <= releases.annotations["threshold"][0] < 2_000


def test_it_claims_epsilon_for_one_number_in_all_releases() -> None:
    [promise] = TruncatedTotals(0, 10, 0.7, 1, 5).guarantees()
    assert (promise.notion, promise.epsilon, promise.per) == ("dp", 0.7, "release")
    assert promise.finite_precision_delta == pytest.approx(10 * (1 + exp(0.7)) * TOTAL_VARIATION)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((5, 5, 1.0, 1, 10), "lower"),
        ((0, 10, 0.0, 1, 10), "epsilon"),
        ((0, 10, 21.0, 1, 10), "epsilon"),
        ((0, 10, 1.0, 0, 10), "units_per_one"),
        ((0, 10, 1.0, 1, 0), "first"),
        ((0, 2**40, 1.0, 1, 10), "give at least 10 nats, or take a larger unit"),
    ],
)
def test_what_cannot_be_is_refused(given: tuple[int, int, float, int, int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        TruncatedTotals(*given)


def test_a_sequence_without_later_numbers_is_refused() -> None:
    with pytest.raises(ValueError, match="are no more than the first 5"):
        TruncatedTotals(0, 10, 1.0, 1, 5).step({}, Inputs(np.arange(5)), Silent())
