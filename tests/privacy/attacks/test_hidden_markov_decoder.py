"""Decode long streams of releases with everything that is public, and compare with the ledger.

A reader who knows the model smooths exactly, forwards and backwards. What any release, and any
stretch of releases, tells about any truth at any time and about whole streams is never more than
the ledger says was spent on it; with any other model it is never more than twice that.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from fugu.operators.auditing.enumeration import sequences
from fugu.operators.mechanism import Floats, Inputs, Integers
from fugu.operators.randomness import DrawScope, Secret, record_positions
from fugu.operators.sip.conditional_randomized_response import (
    ConditionalRandomizedResponse,
    PaperConditionalRandomizedResponse,
)
from fugu.operators.sip.markov_model import MarkovModel
from tests.privacy.attacks.decoder import Public, gains, smoothed
from tests.privacy.chains import binary, random_chain
from tests.privacy.faults.symbols import BeliefNotUpdated
from tests.privacy.leakage import ROUNDING, about_truth

STREAMS, STEPS = 200, 50


MODELS = [
    (binary(stays=0.9, first=0.5), 1.0),
    (binary(stays=0.7, first=0.5), 0.2),
    (random_chain(np.random.default_rng(1), 3), 1.0),
    (random_chain(np.random.default_rng(2), 4), 3.0),
]


def truths_of(model: MarkovModel) -> Integers:
    """Private streams as the model has them, `(streams, steps)`."""
    rng = np.random.default_rng(6)
    law = np.tile(model.prior, (STREAMS, 1))
    columns = []
    for _ in range(STEPS):
        columns.append((np.cumsum(law, axis=1)[:, :-1] <= rng.random((STREAMS, 1))).sum(axis=1))
        law = model.transition[columns[-1]]
    return np.stack(columns, axis=1)


def released(mechanism: ConditionalRandomizedResponse, truths: Integers) -> Integers:
    """Return what the real step releases, `(streams, steps)`."""
    scope = DrawScope(Secret(bytes(32)), "decoded", "crr", 1, mechanism.law_digest())
    keys = [b"user-%d" % stream for stream in range(STREAMS)]
    state, columns = mechanism.start(STREAMS), []
    for step in range(STEPS):
        draws = scope.draws(keys, record_positions("topic", 0, [step] * STREAMS))
        state, releases = mechanism.step(state, Inputs(truths[:, step]), draws)
        columns.append(releases.values)
    return np.stack(columns, axis=1)


def every_sequence(mechanism: ConditionalRandomizedResponse, steps: int) -> Integers:
    """All that can be released, in lexicographic order."""
    state, found = mechanism.start(1), np.zeros((1, 0), dtype=np.int64)
    for _ in range(steps):
        before, next_release = np.nonzero(mechanism.release_law(state).max(axis=1) > 0.0)
        found = np.concatenate([found[before], next_release[:, None]], axis=1)
        state = mechanism.follow({n: column[before] for n, column in state.items()}, next_release)
    return found


def model_of(mechanism: ConditionalRandomizedResponse) -> MarkovModel:
    """Dense in all examples here."""
    assert isinstance(mechanism.model, MarkovModel)
    return mechanism.model


def published(mechanism: ConditionalRandomizedResponse) -> Public:
    """Return what is public about long streams that the mechanism's own model is right about."""
    return Public.of(mechanism, released(mechanism, truths_of(model_of(mechanism))))


@pytest.fixture(scope="module", params=MODELS, ids=range(len(MODELS)))
def mechanism(request: pytest.FixtureRequest) -> ConditionalRandomizedResponse:
    return ConditionalRandomizedResponse(*request.param)


@pytest.fixture(scope="module")
def public(mechanism: ConditionalRandomizedResponse) -> Public:
    return published(mechanism)


def worst_over_charge(public: Public, reader: MarkovModel) -> float:
    """By how much a release told more about whole streams than it was charged, at worst."""
    return float((gains(public, reader) - public.charges).max())


def about_any_position(
    public: Public, reader: MarkovModel, stretches: Sequence[int]
) -> Iterator[tuple[Floats, Floats]]:
    """Yield what so many releases in a row told about the truth of one position, and their cost.

    Both are `(stretches, streams)`, for each length of a stretch.
    """
    known = np.log(smoothed(public, reader))
    for stretch in stretches:
        told = np.abs(known[stretch:] - known[:-stretch]).max(axis=(1, 3))
        yield told, public.spent[stretch:] - public.spent[:-stretch]


def test_no_release_tells_more_about_whole_streams_than_it_cost(
    mechanism: ConditionalRandomizedResponse, public: Public
) -> None:
    """And hence no stretch of releases: what they tell is at most the sum."""
    assert worst_over_charge(public, model_of(mechanism)) <= ROUNDING
    assert gains(public, model_of(mechanism)).max() > 0.9 * mechanism.epsilon


def test_no_stretch_of_releases_tells_more_about_any_position_than_it_cost(
    mechanism: ConditionalRandomizedResponse, public: Public
) -> None:
    """Earlier and later positions included: the chain makes every release speak of them."""
    for told, cost in about_any_position(public, model_of(mechanism), [1, 5, STEPS]):
        assert (told <= cost + ROUNDING).all()
        assert told.max() > 0.9 * mechanism.epsilon


def test_a_reader_with_another_model_learns_at_most_twice_as_much(
    mechanism: ConditionalRandomizedResponse, public: Public
) -> None:
    """And sometimes more than once as much: relative to another model that is not promised."""
    excesses = []
    for seed in range(3):
        reader = random_chain(np.random.default_rng([3, seed]), mechanism.model.symbols)
        assert (gains(public, reader) <= 2.0 * public.charges + ROUNDING).all()
        excesses.append(worst_over_charge(public, reader))
    for told, cost in about_any_position(public, reader, [1, 5]):
        assert (told <= 2.0 * cost + ROUNDING).all()
    assert max(excesses) > 0.05 * mechanism.epsilon


@pytest.mark.parametrize(("symbols", "steps"), [(2, 6), (3, 4)])
def test_on_every_short_stream_the_decoder_finds_what_enumeration_finds(
    symbols: int, steps: int
) -> None:
    rng = np.random.default_rng(symbols)
    for _ in range(10):
        model = random_chain(rng, symbols)
        mechanism = ConditionalRandomizedResponse(model, float(rng.uniform(0.2, 3.0)))
        *_, paths = sequences(mechanism, steps)
        public = Public.of(mechanism, every_sequence(mechanism, steps))
        told = gains(public, model).sum(axis=1).max(axis=0)
        np.testing.assert_allclose(told, about_truth(paths, model), rtol=0, atol=ROUNDING)
        assert (told <= public.spent[-1] + ROUNDING).all()


def test_of_a_belief_that_is_not_updated_the_decoder_learns_more_than_is_charged(
    mechanism: ConditionalRandomizedResponse,
) -> None:
    public = published(BeliefNotUpdated(model_of(mechanism), mechanism.epsilon))
    assert worst_over_charge(public, model_of(mechanism)) > 0.05 * mechanism.epsilon
    [(told, cost)] = about_any_position(public, model_of(mechanism), [1])
    assert (told - cost).max() > 0.05 * mechanism.epsilon


def test_of_the_papers_mechanism_the_decoder_learns_more_than_is_claimed() -> None:
    """Its ledger is honest, and says more than epsilon."""
    paper = PaperConditionalRandomizedResponse(binary(stays=0.9, first=0.9), epsilon=1.0)
    public = published(paper)
    [(told, _)] = about_any_position(public, model_of(paper), [1])
    assert told.max() > 1.5 * paper.epsilon
    assert gains(public, model_of(paper)).max() > 1.5 * paper.epsilon
    assert worst_over_charge(public, model_of(paper)) <= ROUNDING
