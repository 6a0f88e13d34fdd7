"""Sequence Information Privacy of batched release, by exhaustive enumeration of whole batches."""

import numpy as np
import pytest

from fugu.operators.auditing.enumeration import sequences, stream_probabilities
from fugu.operators.auditing.step_check import check_step
from fugu.operators.auditing.whole_batches import WholeBatches
from fugu.operators.budget_units import in_nats
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.distances import HAMMING, Distance, Ordered
from tests.operators.sip.batches.configured import ALGORITHMS, released_by
from tests.privacy.chains import random_chain
from tests.privacy.leakage import ROUNDING
from tests.thinned import first_in_test

CELLS = 16_384
"""The number of cells of words that are looked at: unlikely batches have few words."""
SHAPES = [(2, 2, 3), (2, 3, 2), (3, 2, 2)]
"""Symbols, window, batches."""
QUICKEST = "likely sequences"
DRAWN_AT_ONCE = [QUICKEST, *sorted(ALGORITHMS.keys() - {QUICKEST, "symbol by symbol"})]


def random_release(
    rng: np.random.Generator, kind: type[BatchedRelease], symbols: int, window: int
) -> BatchedRelease:
    epsilon = float(np.exp(rng.uniform(np.log(0.05), np.log(6.0))))
    distance: Distance = HAMMING if rng.random() < 0.5 else Ordered()
    return kind(random_chain(rng, symbols), window, epsilon, distance)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("symbols", "window", "batches"), SHAPES)
def test_the_ledger_of_every_path_covers_what_its_batches_leaked(
    symbols: int, window: int, batches: int, algorithm: str
) -> None:
    """To a reader who believes the model; and to any other, twice as much covers it."""
    rng = np.random.default_rng([symbols, window])
    released_something = False
    for _ in range(4):
        mechanism = random_release(rng, released_by(ALGORITHMS[algorithm]), symbols, window)
        other = random_chain(rng, symbols)
        for paths in sequences(WholeBatches(mechanism), batches):
            positions = window * paths.steps
            leaked = paths.about_truth(stream_probabilities(mechanism.model, positions))
            assert (leaked <= paths.spent + ROUNDING).all()
            assert (paths.spent <= paths.steps * in_nats(mechanism.largest_charge)).all()
            assert (paths.about_streams() <= 2.0 * paths.spent + ROUNDING).all()
            wrongly = paths.about_truth(stream_probabilities(other, positions))
            assert (wrongly <= 2.0 * paths.spent + ROUNDING).all()
            assert in_nats(mechanism.largest_charge) <= mechanism.epsilon_per_batch + 1e-9
            released_something |= leaked.max() > 0.01
    assert released_something


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", first_in_test(DRAWN_AT_ONCE, 1))
def test_every_batch_is_drawn_from_the_law_and_moves_the_state_as_said(algorithm: str) -> None:
    """Symbol by symbol draws more than one word; its frequencies are tested instead."""
    rng = np.random.default_rng(3)
    for symbols, window in ((2, 3), (3, 2)):
        mechanism = random_release(rng, released_by(ALGORITHMS[algorithm]), symbols, window)
        whole = WholeBatches(mechanism)
        (paths,) = sequences(whole, 1)
        state = {name: column[:4] for name, column in paths.state.items()}
        for rows in (whole.start(1), state):
            check = check_step(whole, rows, cells=CELLS)
            assert check.distance < 1e-13
            assert check.follows
            assert check.public
