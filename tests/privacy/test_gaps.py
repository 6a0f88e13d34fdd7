"""Sequence Information Privacy of streams with gaps, by exhaustive enumeration."""

from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from fugu.operators.budget import Budgeted
from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import Floats
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.inputs import Gaps
from fugu.operators.sip.markov_model import Chain
from fugu.operators.sip.model_sets import ModelIntervals
from tests.operators.sip import dense
from tests.operators.sip.brute_force import Enumeration, Path, TruthLaw, first_order
from tests.operators.sip.chains import random_second_order, sparse, truth_law
from tests.operators.sip.model_sets import Drifting, constant_corners
from tests.operators.sip.test_model_sets import predicted
from tests.privacy.chains import binary, random_chain
from tests.privacy.gaps import ResponseInTime, RobustInTime, seen_at, truth_probabilities
from tests.privacy.leakage import ROUNDING, all_sequences

GAPS = Gaps(step_milliseconds=1_000, longest=100)
IRREGULAR: list[Path] = [(0, 3, 4, 6), (7, 8, 12, 13), (-2, 1, 3, 5)]


def in_time(model: Chain, epsilon: float, ticks: Path) -> ResponseInTime:
    return ResponseInTime(model, epsilon, gaps=GAPS, ticks=ticks)


def chains(seed: int) -> list[tuple[Chain, TruthLaw]]:
    """Dense and sparse, of two and of three symbols, and of second order; and their truths."""
    rng = np.random.default_rng(seed)
    two, three = random_chain(rng, 2), random_chain(rng, 3)
    pairs = random_second_order(2, 3, seed)
    laws = [first_order(model.prior, model.transition) for model in (two, three)]
    return [
        (two, laws[0]),
        (sparse(two), laws[0]),
        (three, laws[1]),
        (pairs.model(), truth_law(pairs)),
    ]


@pytest.mark.parametrize("ticks", IRREGULAR)
def test_the_ledger_of_every_path_through_gaps_covers_what_it_leaked(ticks: Path) -> None:
    """About truths that made a step of the chain in every tick, seen or not."""
    worst = 0.0
    for seed in range(4):
        epsilon = float(np.random.default_rng(seed).uniform(0.3, 3.0))
        for model, law in chains(seed):
            mechanism, steps = in_time(model, epsilon, ticks), len(ticks)
            truths = truth_probabilities(seen_at(ticks, law, model.symbols), model.symbols, steps)
            paths = all_sequences(mechanism, steps)
            leaked = paths.about_truth(truths)
            assert (leaked <= paths.spent + ROUNDING).all()
            assert (paths.spent <= steps * in_nats(mechanism.largest_charge)).all()
            assert (paths.about_streams() <= 2.0 * paths.spent + ROUNDING).all()
            worst = max(worst, float((leaked / epsilon).max()))
    assert worst > 2.0


@pytest.mark.parametrize("ticks", IRREGULAR)
def test_so_it_does_for_every_corner_of_a_set_of_models(ticks: Path) -> None:
    model = binary(stays=0.9, first=0.3)
    for within in ({"share": 0.1}, {"amount": 0.05}):
        around = ModelIntervals.around(model, **within)
        robust = RobustInTime(model, 1.0, gaps=GAPS, ticks=ticks, intervals=around)
        paths = all_sequences(robust, len(ticks))
        for member in constant_corners(around):
            law = first_order(member.prior, member.transition)
            truths = truth_probabilities(seen_at(ticks, law, 2), 2, len(ticks))
            assert (paths.about_truth(truths) <= paths.spent + ROUNDING).all()


@pytest.mark.parametrize("ticks", [(0, 3, 4, 6), (-2, 1, 3)])
def test_so_it_does_for_models_that_drift_within_the_gaps(ticks: Path) -> None:
    """Every step of a gap has rows of its own, whether a record shows it or not."""
    model = binary(stays=0.9, first=0.3)
    around = ModelIntervals.around(model, share=0.1, amount=0.02)
    robust = RobustInTime(model, 1.0, gaps=GAPS, ticks=ticks, intervals=around)
    paths, worst = all_sequences(robust, len(ticks)), 0.0
    for seed in range(20):
        truths = drifting_at(ticks, Drifting(around, seed, between=seed % 2 == 1))
        leaked = paths.about_truth(truths)
        assert (leaked <= paths.spent + ROUNDING).all()
        worst = max(worst, float((leaked / np.maximum(paths.spent, 1e-3)).max()))
    assert worst > 0.5


def drifting_at(ticks: Path, member: Drifting) -> Floats:
    """P(truths at the ticks), in lexicographic order."""
    likely: dict[Path, Fraction] = {(x,): chance for x, chance in enumerate(member.first())}
    for before, after in pairwise(ticks):
        rows = member.rows()
        for _ in range(after - before - 1):
            more = member.rows()
            rows = [predicted(row, more) for row in rows]
        likely = {
            (*truth, v): chance * rows[truth[-1]][v]
            for truth, chance in likely.items()
            for v in range(len(rows))
        }
    return np.array([float(likely[truth]) for truth in sorted(likely)])


def own_law(mechanism: ResponseInTime, belief: Floats) -> Floats:
    """a[x, y] that is drawn at a belief."""
    return dense.matrix(mechanism.law(belief[:, None]))[:, :, 0]


def test_beliefs_in_gaps_are_bayes_rule_over_all_that_may_have_happened() -> None:
    """After every sequence of releases, to 1e-12."""
    ticks = (0, 3, 4, 6)
    for model, law in chains(seed=5):
        mechanism = in_time(model, 0.8, ticks)
        law_of = partial(own_law, mechanism)
        expected = Enumeration(model.symbols, seen_at(ticks, law, model.symbols), law_of)
        for steps in range(4):
            paths = expected.releasable(steps)
            state = mechanism.start(len(paths))
            for released in np.array(paths, dtype=np.int64).reshape(len(paths), steps).T:
                state = mechanism.follow(state, released)
            beliefs = model.marginal(state["belief"].T.copy()).T
            wanted = [expected.belief(path) for path in paths]
            np.testing.assert_allclose(beliefs, wanted, rtol=0, atol=1e-12)


def test_one_prediction_for_a_long_gap_leaks_more_than_its_ledger_says() -> None:
    """Take one prediction for a long gap: old releases then tell more than is believed."""
    model, ticks = binary(stays=0.9, first=0.5), (0, 20, 40, 60)
    far_apart = np.linalg.matrix_power(model.transition, 20)
    truths = truth_probabilities(first_order(model.prior, far_apart), 2, 4)
    ignoring = all_sequences(ConditionalRandomizedResponse(model, epsilon=1.0), 4)
    assert ignoring.about_truth(truths).max() == pytest.approx(4.867, abs=5e-4)
    paths = all_sequences(in_time(model, 1.0, ticks), 4)
    assert paths.about_truth(truths).max() == pytest.approx(4.0, abs=1e-9)
    assert ignoring.spent.max() == pytest.approx(4.0) == paths.spent.max()


def test_a_gap_that_counts_as_fewer_steps_is_private_relative_to_the_chain_that_says_so() -> None:
    model, ticks = binary(stays=0.9, first=0.3), (0, 1_000, 1_001, 9_000)
    mechanism = ResponseInTime(model, 1.5, gaps=Gaps(1_000, longest=2), ticks=ticks)
    law = first_order(model.prior, model.transition)
    truths = truth_probabilities(seen_at((0, 2, 3, 5), law, 2), 2, 4)
    paths = all_sequences(mechanism, 4)
    assert (paths.about_truth(truths) <= paths.spent + ROUNDING).all()


@pytest.mark.parametrize("window", [None, 2])
def test_a_budget_covers_gaps_too_and_counts_records(window: int | None) -> None:
    """Skipped records are a step of the chain each, beside those of the gap before them."""
    model, ticks = binary(stays=0.8, first=0.4), (0, 2, 3, 6)
    law = first_order(model.prior, model.transition)
    truths = truth_probabilities(seen_at(ticks, law, 2), 2, 4)
    budgeted = Budgeted(in_time(model, 0.9, ticks), total=1.0, window=window)
    paths = all_sequences(budgeted, 4)
    assert (paths.about_truth(truths) <= paths.spent + ROUNDING).all()
    spent = float(paths.spent.max())
    assert spent <= 1.0 + 1e-6 if window is None else 1.5 < spent <= 2.0 + 1e-6
