"""Publish or repeat, by exhaustive enumeration of truths, decisions and releases."""

from typing import Literal, get_args

import numpy as np
import pytest

from fugu.operators.auditing.enumeration import sequences
from fugu.operators.budget import Budgeted
from fugu.operators.budget_units import in_nats
from fugu.operators.digests import extended
from fugu.operators.mechanism import State
from fugu.operators.sip.adaptive_release import AdaptiveRelease, Distance, RepeatDecision
from fugu.operators.sip.kernels import SymbolLaw
from fugu.operators.sip.proposals import Mask
from tests.operators.sip.chains import random_second_order
from tests.operators.sip.choices import scattered
from tests.privacy.chains import binary, random_chain
from tests.privacy.leakage import ROUNDING, about_truth, all_sequences

BILLIONTH_MORE = 1 + 2e-9


class BitLeftOut(AdaptiveRelease):
    """Charges the decision, but believes after it what it believed before."""

    def _law_after(self, state: State, decision: RepeatDecision, repeats: Mask) -> SymbolLaw:
        return self._fresh.law(decision.belief, self._doubt(state))


def random_epsilons(rng: np.random.Generator) -> tuple[float, float]:
    decision, release = np.exp(rng.uniform(np.log(0.05), np.log(5.0), 2))
    return float(decision), float(release)


def random_adaptive(
    rng: np.random.Generator, symbols: int, distance: Distance | Literal["points"] = "symbol"
) -> AdaptiveRelease:
    apart = scattered(symbols) if distance == "points" else distance
    return AdaptiveRelease(random_chain(rng, symbols), *random_epsilons(rng), apart)


@pytest.mark.parametrize("distance", [*get_args(Distance), "points"])
@pytest.mark.parametrize(("symbols", "steps"), [(2, 4), (3, 3), (3, 4)])
def test_the_ledger_of_every_path_covers_what_it_leaked(
    symbols: int, steps: int, distance: Distance | Literal["points"]
) -> None:
    rng = np.random.default_rng([symbols, steps])
    worst = 0.0
    for _ in range(15):
        mechanism = random_adaptive(rng, symbols, distance)
        for paths in sequences(mechanism, steps):
            leaked = about_truth(paths, mechanism.model)
            assert (leaked <= paths.spent + ROUNDING).all()
            assert (paths.spent <= paths.steps * in_nats(mechanism.largest_charge)).all()
            assert (paths.about_streams() <= 2.0 * paths.spent + ROUNDING).all()
        worst = max(worst, float((leaked / np.maximum(paths.spent, ROUNDING)).max()))
    assert worst > 0.9


def test_the_ledger_covers_what_a_second_order_chain_leaked() -> None:
    rng = np.random.default_rng(2)
    for seed in range(15):
        model = random_second_order(2, 4, seed).model()
        mechanism = AdaptiveRelease(model, *random_epsilons(rng))
        paths = all_sequences(mechanism, 4)
        assert (about_truth(paths, model) <= paths.spent + ROUNDING).all()


@pytest.mark.parametrize(("symbols", "steps"), [(2, 3), (2, 4), (3, 3)])
def test_a_belief_that_leaves_the_decision_out_leaks_more_than_its_ledger_says(
    symbols: int, steps: int
) -> None:
    """Theorem 1 needs the exact posterior; the decision is part of what was released."""
    rng = np.random.default_rng([symbols, steps, 1])
    excesses = []
    for _ in range(15):
        model, epsilons = random_chain(rng, symbols), random_epsilons(rng)
        paths = all_sequences(BitLeftOut(model, *epsilons), steps)
        excesses.append(float((about_truth(paths, model) - paths.spent).max()))
    assert np.mean(np.array(excesses) > 0.01) > 0.5
    assert max(excesses) > 0.8


def test_with_the_decision_in_the_belief_the_ledger_is_exact_and_without_it_it_is_exceeded() -> (
    None
):
    model = binary(stays=0.6, first=0.5)
    kept = all_sequences(AdaptiveRelease(model, 2.0, 0.5), 3)
    left_out = all_sequences(BitLeftOut(model, 2.0, 0.5), 3)
    assert about_truth(kept, model).max() == pytest.approx(kept.spent.max(), abs=1e-9)
    assert kept.spent.max() == pytest.approx(4.53, abs=0.005)
    assert left_out.spent.max() == pytest.approx(5.92, abs=0.005)
    assert about_truth(left_out, model).max() == pytest.approx(6.33, abs=0.005)


@pytest.mark.parametrize("symbols", [2, 3])
def test_no_other_prior_or_correlation_learns_more_than_twice_as_much(symbols: int) -> None:
    rng = np.random.default_rng([symbols, 2])
    for _ in range(20):
        mechanism = random_adaptive(rng, symbols)
        paths = all_sequences(mechanism, 3)
        leaked = about_truth(paths, random_chain(rng, symbols))
        assert (leaked <= 2.0 * paths.spent + ROUNDING).all()


def test_one_position_leaks_at_most_the_decision_and_twice_the_release() -> None:
    rng = np.random.default_rng(3)
    for distance in get_args(Distance):
        for _ in range(15):
            mechanism = random_adaptive(rng, 3, distance)
            most = mechanism.decision_epsilon + 2.0 * mechanism.release_epsilon
            paths = all_sequences(mechanism, 3)
            leaked = max(paths.about_one_position(k).max() for k in range(3))
            assert leaked <= most + ROUNDING
            assert most <= mechanism.guarantees()[1].epsilon


def test_a_repeated_release_is_cheaper_and_the_next_charge_is_the_dearer_of_the_two() -> None:
    rng = np.random.default_rng(4)
    cheaper = 0
    for _ in range(20):
        mechanism = random_adaptive(rng, 3)
        charge = int(mechanism.next_charge(mechanism.start(1))[0])
        [paths] = sequences(mechanism, 1)
        repeats = paths.state["history"] == extended(np.zeros(1, np.uint64), np.array([4]))
        assert repeats.sum() == 1
        assert (paths.state["spent"][~repeats] == charge).all()
        assert (paths.state["spent"] <= charge).all()
        cheaper += int((paths.state["spent"][repeats] < charge).sum())
    assert cheaper > 10


@pytest.mark.parametrize("window", [None, 1, 2])
@pytest.mark.parametrize("symbols", [2, 3])
def test_under_a_budget_no_path_spends_more_or_leaks_more_than_it_spent(
    symbols: int, window: int | None
) -> None:
    rng = np.random.default_rng([symbols, window or 0])
    for _ in range(8):
        mechanism = random_adaptive(rng, symbols)
        dearest = in_nats(mechanism.largest_charge)
        total = float(rng.uniform(1.0, 2.5)) * dearest
        budgeted = Budgeted(mechanism, total, window)
        for paths in sequences(budgeted, 5 if symbols == 2 else 4):
            assert (about_truth(paths, mechanism.model) <= paths.spent + ROUNDING).all()
            windows = 1 if window is None else -(-paths.steps // window)
            assert paths.spent.max() <= windows * total * BILLIONTH_MORE
