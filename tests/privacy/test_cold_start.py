"""Cold start by exhaustive enumeration: both parts of its claim."""

from dataclasses import replace

import numpy as np
import pytest

from fugu.operators.auditing.enumeration import Sequences, sequences, stream_probabilities
from fugu.operators.budget import Budgeted
from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import Floats, Integers, State
from fugu.operators.sip.cold_start import ColdStart
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.stream_learning import StreamModels
from tests.operators.sip.choices import scattered
from tests.privacy.chains import random_chain
from tests.privacy.leakage import ROUNDING, about_truth, all_sequences

STEPS = 4


class Recorded(ColdStart):
    """Keeps every release, for a test to look at."""

    def start(self, rows: int) -> State:
        path = np.zeros((rows, STEPS), dtype=np.uint8)
        return {**super().start(rows), "path": path, "made": np.zeros(rows, dtype=np.int64)}

    def follow(self, state: State, released: Integers) -> State:
        path = np.concatenate([state["path"][:, 1:], released[:, None].astype(np.uint8)], axis=1)
        return {**super().follow(state, released), "path": path, "made": state["made"] + 1}


class LearnsOn(Recorded):
    """Learns anew after every release, from all of them, instead of freezing its model."""

    def follow(self, state: State, released: Integers) -> State:
        after = super().follow(state, released)
        if (state["begun"] == self.positions).all():
            told = after["path"][:, -int(after["made"][0]) :]
            models = StreamModels.learned(told, self.symbols, self.odds, self.alpha)
            after["transition"] = np.moveaxis(models.transition, -1, 0).copy()
        return after


def short(kind: type[ColdStart], symbols: int, epsilon: float, positions: int) -> ColdStart:
    return kind(symbols, epsilon, positions, when_short="accept")


def learned_models(mechanism: ColdStart, paths: Sequences) -> list[MarkovModel]:
    """Return what each sequence of releases made its reader believe in."""
    releases = paths.state["path"][:, STEPS - paths.steps :]
    first = releases if isinstance(mechanism, LearnsOn) else releases[:, : mechanism.positions]
    models = StreamModels.learned(first, mechanism.symbols, mechanism.odds, mechanism.alpha)
    return [
        MarkovModel.smoothed(models.prior[:, row], models.transition[:, :, row], smoothing=0.0)
        for row in range(len(first))
    ]


def about_truth_relative_to_learned(mechanism: ColdStart, paths: Sequences) -> Floats:
    leaked = []
    for row, model in enumerate(learned_models(mechanism, paths)):
        one = {name: column[[row]] for name, column in paths.state.items()}
        alone = Sequences(paths.steps, paths.inputs, paths.log_likelihood[:, [row]], one)
        leaked.append(float(about_truth(alone, model)[0]))
    return np.array(leaked)


@pytest.mark.parametrize(("symbols", "positions"), [(2, 1), (2, 2), (2, 3), (3, 2)])
def test_relative_to_the_learned_model_the_ledger_covers_what_every_path_leaked(
    symbols: int, positions: int
) -> None:
    for epsilon in (0.3, 1.0, 2.5):
        mechanism = short(Recorded, symbols, epsilon, positions)
        paths = all_sequences(mechanism, STEPS)
        assert paths.state["transition"].all()
        leaked = about_truth_relative_to_learned(mechanism, paths)
        assert (leaked <= paths.spent + ROUNDING).all()
        assert paths.spent.max() <= STEPS * in_nats(mechanism.largest_charge)


def test_so_it_does_where_releases_are_near_between_points() -> None:
    mechanism = replace(short(Recorded, 3, 1.5, 2), distance=scattered(3))
    paths = all_sequences(mechanism, STEPS)
    leaked = about_truth_relative_to_learned(mechanism, paths)
    assert (leaked <= paths.spent + ROUNDING).all()
    assert (paths.spent > 0.0).any()


def test_a_model_that_goes_on_learning_leaks_more_than_its_ledger_says() -> None:
    """Section 6: no single model makes every belief the posterior, so nothing telescopes."""
    mechanism = short(LearnsOn, 2, 1.0, 2)
    paths = all_sequences(mechanism, STEPS)
    excess = about_truth_relative_to_learned(mechanism, paths) - paths.spent
    assert excess.max() == pytest.approx(0.51, abs=0.005)


def bound_for_anybody(mechanism: ColdStart, steps: int) -> float:
    first = min(steps, mechanism.positions)
    return mechanism.epsilon * (first + 2 * (steps - first))


@pytest.mark.parametrize(("symbols", "positions"), [(2, 2), (2, 1), (3, 2)])
def test_for_any_prior_early_releases_count_once_and_later_ones_twice(
    symbols: int, positions: int
) -> None:
    """Markov chains, and any other law of four symbols that follow each other."""
    rng = np.random.default_rng([symbols, positions])
    most = 0.0
    for epsilon in (0.3, 1.0, 2.0):
        mechanism = short(ColdStart, symbols, epsilon, positions)
        for paths in sequences(mechanism, STEPS):
            bound = bound_for_anybody(mechanism, paths.steps)
            assert paths.about_streams().max() <= bound + ROUNDING
            truths = symbols**paths.steps
            for _ in range(30):
                prior = rng.dirichlet(np.full(truths, rng.choice([0.02, 0.2, 2.0])))
                chain = stream_probabilities(random_chain(rng, symbols), paths.steps)
                for probabilities in (prior, chain):
                    leaked = paths.about_truth(probabilities).max()
                    assert leaked <= bound + ROUNDING
                    most = max(most, float(leaked / (paths.steps * epsilon)))
    assert most > 1.0


def test_the_second_part_is_needed() -> None:
    """Somebody learns more than epsilon per release, so nothing less could be promised to all."""
    mechanism = short(ColdStart, 2, 1.0, 2)
    paths = all_sequences(mechanism, STEPS)
    likely = np.zeros(16)
    worst = paths.about_streams().argmax()
    likely[[paths.log_likelihood[:, worst].argmax(), paths.log_likelihood[:, worst].argmin()]] = (
        1e-6,
        1 - 1e-6,
    )
    assert paths.about_truth(likely).max() > STEPS * 1.0


def test_an_early_position_leaks_epsilon_to_anybody_and_a_later_one_twice_as_much() -> None:
    mechanism = short(ColdStart, 3, 1.2, 2)
    paths = all_sequences(mechanism, STEPS)
    early = [paths.about_one_position(k).max() for k in (0, 1)]
    later = [paths.about_one_position(k).max() for k in (2, 3)]
    assert max(early) <= 1.2 + ROUNDING
    assert 1.2 < max(later) <= 2.4 + ROUNDING <= mechanism.guarantees()[1].epsilon + ROUNDING


def test_under_a_budget_no_path_leaks_more_than_it_spent() -> None:
    for total, window in ((2.5, None), (2.0, 3)):
        mechanism = short(ColdStart, 2, 1.0, 2)
        for paths in sequences(Budgeted(mechanism, total, window), 5):
            assert (paths.about_streams() <= 2.0 * paths.spent + ROUNDING).all()
            windows = 1 if window is None else -(-paths.steps // window)
            assert paths.spent.max() <= windows * total * (1 + 2e-9)
