"""The analyst's shares are right on average, and 95 % bars hold the truth so often."""

from functools import cache

import numpy as np
import pytest

from examples.clickstream.analyst import estimated_shares
from examples.clickstream.coverage import learned_mechanism, released, shares_of, streams_of
from examples.clickstream.site import Site
from fugu.operators.estimates.shares import DifferenceReader
from fugu.operators.mechanism import Floats
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.markov_model import MarkovModel

SITE = Site(pages=30)
DRAWS = 30


@cache
def population_shares() -> Floats:
    return shares_of(streams_of(SITE.clicks(visitors=15_000, seed=0)), SITE.pages)


def deviations(mechanism: ConditionalRandomizedResponse) -> tuple[Floats, Floats]:
    """(estimate - truth) / standard error, `(draws, pages)`: the truth of the visitors whose clicks
    they are, and that of all visitors of their kind."""
    own, population = [], []
    for seed in range(DRAWS):
        streams = streams_of(SITE.clicks(visitors=150, seed=100 + seed))
        told = released(mechanism, streams, seed)
        estimate = estimated_shares(DifferenceReader(mechanism), SITE.pages, told)
        truth = shares_of(streams, SITE.pages)
        own.append((estimate.shares - truth) / estimate.standard_errors)
        population.append((estimate.shares - population_shares()) / estimate.standard_errors)
    return np.stack(own), np.stack(population)


def uniform_model() -> MarkovModel:
    """As wrong as it gets without knowing the site."""
    uniform = np.full(SITE.pages, 1.0 / SITE.pages)
    return MarkovModel.smoothed(uniform, np.tile(uniform, (SITE.pages, 1)), smoothing=0.0)


def check(mechanism: ConditionalRandomizedResponse) -> None:
    own, population = deviations(mechanism)
    assert np.mean(np.abs(population) < 1.96) == pytest.approx(0.95, abs=0.02)
    assert np.mean(np.abs(own) < 1.96) >= 0.95
    for deviation in (own, population):
        assert np.abs(deviation.mean(axis=0)).max() < 4.0 / np.sqrt(DRAWS)


@pytest.mark.slow
def test_with_a_model_of_other_visitors_bars_hold_the_shares_of_all_such_visitors() -> None:
    check(learned_mechanism(SITE, visitors=3_000, seed=5))


@pytest.mark.acceptance
def test_where_every_page_is_releasable_a_wrong_model_does_not_matter() -> None:
    check(ConditionalRandomizedResponse(uniform_model(), 2.0, mode="full_support"))


def test_shares_are_those_of_counts_where_releases_are_almost_surely_true() -> None:
    mechanism = ConditionalRandomizedResponse(uniform_model(), 40.0)
    streams = streams_of(SITE.clicks(visitors=300, seed=1))
    assert [told.tolist() for told in released(mechanism, streams, 1)] == [
        stream.tolist() for stream in streams
    ]
    estimate = estimated_shares(DifferenceReader(mechanism), SITE.pages, streams)
    truth = shares_of(streams, SITE.pages)
    assert estimate.shares == pytest.approx(truth)
    counts = np.array([np.bincount(stream, minlength=SITE.pages) for stream in streams])
    lengths = counts.sum(axis=1)
    left_out = [
        (counts.sum(axis=0) - count) / (lengths.sum() - length)
        for count, length in zip(counts, lengths, strict=True)
    ]
    jackknife = np.sqrt(len(streams) - 1) * np.std(left_out, axis=0)
    assert estimate.standard_errors == pytest.approx(jackknife, rel=0.05)


def test_clicks_of_one_user_hang_together() -> None:
    streams = [np.array([0] * 9)] + [np.array([1] * 9)] * 9
    mechanism = ConditionalRandomizedResponse(uniform_model(), 40.0)
    estimate = estimated_shares(DifferenceReader(mechanism), SITE.pages, streams)
    assert estimate.shares[0] == pytest.approx(0.1)
    assert estimate.standard_errors[0] > 2.0 * np.sqrt(0.1 * 0.9 / 90)
