"""Sequence Information Privacy of batched release, by exhaustive enumeration of whole batches."""

import numpy as np
import pytest

from fugu.operators.auditing.enumeration import sequences, stream_probabilities
from fugu.operators.auditing.step_check import check_step
from fugu.operators.auditing.whole_batches import WholeBatches
from fugu.operators.budget_units import in_nats
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.distances import HAMMING, Distance, Ordered
from fugu.operators.sip.inputs import Gaps
from fugu.operators.sip.markov_model import Chain
from tests.operators.sip.batches.configured import ALGORITHMS, released_by
from tests.operators.sip.brute_force import Path, TruthLaw, first_order
from tests.operators.sip.chains import random_second_order, sparse, truth_law
from tests.privacy.chains import binary, random_chain
from tests.privacy.gaps import BatchesInTime, seen_at, truth_probabilities
from tests.privacy.leakage import ROUNDING, all_sequences
from tests.thinned import first_in_test

CELLS = 16_384
"""The number of cells of words that are looked at: unlikely batches have few words."""
GAPS = Gaps(step_milliseconds=1_000, longest=6)
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


def paired(seed: int) -> tuple[Chain, TruthLaw]:
    """A bit that depends on the two before it, and how likely its truths are."""
    chain = random_second_order(2, 4, seed)
    return chain.model(), truth_law(chain)


def check_pairs(kind: type[BatchedRelease]) -> None:
    """Three batches of two symbols and two of three, of chains of second order."""
    worst = 0.0
    for seed in range(4):
        model, law = paired(seed)
        for window, batches in ((2, 3), (3, 2)):
            epsilon = float(np.random.default_rng(seed).uniform(1.0, 4.0))
            mechanism = kind(model, window, epsilon, kernel="heuristic")
            truths = truth_probabilities(law, 2, window * batches)
            paths = all_sequences(WholeBatches(mechanism), batches)
            leaked = paths.about_truth(truths)
            assert (leaked <= paths.spent + ROUNDING).all()
            assert (paths.about_streams() <= 2.0 * paths.spent + ROUNDING).all()
            worst = max(worst, float((leaked / epsilon).max()))
    assert worst > 1.0


def test_batches_of_a_chain_of_second_order_leak_no_more_than_their_ledger() -> None:
    """About all truths together, from a law that no state of the chain takes part in."""
    check_pairs(BatchedRelease)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", first_in_test(ALGORITHMS, 0))
def test_so_do_those_of_every_algorithm(algorithm: str) -> None:
    check_pairs(released_by(ALGORITHMS[algorithm]))
    check_gaps(released_by(ALGORITHMS[algorithm]))


def check_gaps(kind: type[BatchedRelease]) -> None:
    """Batches with irregular gaps between and within them, and one that goes back in time."""
    rng, worst = np.random.default_rng(4), 0.0
    pairs, two = random_second_order(2, 3, seed=3), random_chain(rng, 2)
    sticky = binary(stays=0.9, first=0.3)
    chains: list[tuple[Chain, TruthLaw]] = [
        (pairs.model(), truth_law(pairs)),
        (sparse(two), first_order(two.prior, two.transition)),
        (sticky, first_order(sticky.prior, sticky.transition)),
    ]
    for model, law in chains:
        for ticks in ((0, 3, 4, 9), (7, 6, 8, 60)):
            epsilon = float(rng.uniform(1.0, 4.0))
            mechanism = kind(model, 2, epsilon, kernel="heuristic", gaps=GAPS)
            paths = all_sequences(BatchesInTime(mechanism, ticks=ticks), 2)
            truths = truth_probabilities(seen_at(counted(ticks), law, 2), 2, 4)
            leaked = paths.about_truth(truths)
            assert (leaked <= paths.spent + ROUNDING).all()
            assert (paths.about_streams() <= 2.0 * paths.spent + ROUNDING).all()
            worst = max(worst, float((leaked / epsilon).max()))
    assert worst > 1.0


def counted(ticks: Path) -> Path:
    """When records come in steps of the chain, by what `Gaps` says of their ticks."""
    at, latest = [0], ticks[0]
    for tick in ticks[1:]:
        at.append(at[-1] + min(max(tick - latest, 1), GAPS.longest))
        latest = max(latest, tick)
    return tuple(at)


def test_batches_with_gaps_leak_no_more_than_their_ledger() -> None:
    check_gaps(BatchedRelease)


def test_a_batch_that_ignores_its_gaps_leaks_more_than_its_ledger() -> None:
    """Twenty steps lie between two bits: what was the same is now as likely another."""
    model, ticks = binary(stays=0.9, first=0.5), (0, 20, 40, 60)
    far = Gaps(step_milliseconds=1_000, longest=20)
    law = first_order(model.prior, np.linalg.matrix_power(model.transition, 20))
    truths = truth_probabilities(law, 2, 4)
    ignoring = BatchedRelease(model, 2, 4.0, kernel="heuristic")
    paths = all_sequences(WholeBatches(ignoring), 2)
    assert (paths.about_truth(truths) - paths.spent).max() > 2.5
    counting = BatchedRelease(model, 2, 4.0, kernel="heuristic", gaps=far)
    paths = all_sequences(BatchesInTime(counting, ticks=ticks), 2)
    assert (paths.about_truth(truths) <= paths.spent + ROUNDING).all()


@pytest.mark.slow
def test_batches_in_pairs_and_in_time_are_drawn_from_the_law() -> None:
    kind = released_by(ALGORITHMS[QUICKEST])
    for gaps in (None, GAPS):
        mechanism = kind(paired(1)[0], 3, 3.0, gaps=gaps)
        whole = WholeBatches(mechanism)
        state = whole.start(1)
        if gaps is not None:
            state["steps"][:] = [[2, 5]]
        check = check_step(whole, state, cells=CELLS)
        assert check.distance < 1e-13
        assert check.follows
        assert check.public
