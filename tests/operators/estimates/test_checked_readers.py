"""Check releases against laws and beliefs, with a budget too."""

import numpy as np
import pytest

from fugu.operators.budget import Budgeted
from fugu.operators.estimates import stream_reports
from fugu.operators.estimates.checked_readers import checked_reader
from fugu.operators.estimates.model_check import ModelCheck, SurpriseSums
from fugu.operators.estimates.share_reader import PredictingReader
from fugu.operators.mechanism import (
    ChargingMechanism,
    Inputs,
    Integers,
    Kind,
    Releases,
    RepeatingMechanism,
)
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.distances import Ordered
from fugu.operators.sip.paper_conditional_randomized_response import (
    PaperConditionalRandomizedResponse,
)
from fugu.operators.sip.planar_isotropic_response import PlanarIsotropicResponse
from tests.operators.estimates.test_model_check import EACH, MODEL, USERS, of_the_model
from tests.operators.noise.simulated import SimulatedDraws

MECHANISMS: dict[str, ChargingMechanism] = {
    "paper": PaperConditionalRandomizedResponse(MODEL, epsilon=1.0),
    "adaptive": AdaptiveRelease(MODEL, decision_epsilon=0.5, release_epsilon=1.0),
    "batched": BatchedRelease(MODEL, window=2, epsilon_per_batch=2.0, kernel="heuristic"),
    "pim": PlanarIsotropicResponse(MODEL, epsilon=1.0, delta=0.05, distance=Ordered()),
}


def checked(mechanism: ChargingMechanism, truth: Integers, total: float | None) -> ModelCheck:
    """Release the truth, and compare the releases with the model."""
    given = mechanism if total is None else Budgeted(mechanism, total)
    draws, state = SimulatedDraws(np.random.default_rng(1)), given.start(len(truth))
    values, kinds = [], []
    for step in range(truth.shape[1]):
        state, releases = given.step(state, Inputs(truth[:, step]), draws)
        fresh = np.full(len(truth), Kind.FRESH)
        values.append(releases.values)
        kinds.append(fresh if releases.kinds is None else releases.kinds)
    shown = Releases(np.concatenate(values), kinds=np.concatenate(kinds))
    outcomes, count = shown.values, MODEL.symbols
    if isinstance(mechanism, RepeatingMechanism):
        outcomes, count = mechanism.outcome_of(shown), 2 * MODEL.symbols
    reader = checked_reader(given)
    assert isinstance(reader, PredictingReader)
    assert reader.outcomes == count
    sums = SurpriseSums(count)
    streams = np.tile(np.arange(len(truth)), truth.shape[1])
    for told in stream_reports.told_by_streams(reader, streams, shown):
        its = told.places
        assert np.nansum(told.surprises, axis=-1) == pytest.approx(0.0, abs=1e-9)
        sums.add(streams[its], outcomes[its], told.surprises, told.variances)
    return sums.check()


@pytest.mark.parametrize("total", [None, 8.0])
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_right_model_raises_no_alarm_and_a_wrong_one_does(name: str, total: float | None) -> None:
    mechanism = MECHANISMS[name]
    right = checked(mechanism, of_the_model(seed=3), total)
    assert not right.alarm
    assert (right.symbols == USERS * EACH) == (total is None), "what is not paid for says nothing"
    assert right.symbols > USERS
    assert len(right.deviations) > 3
    if total is None:
        uniform = np.random.default_rng(0).integers(0, 3, (USERS, EACH))
        assert checked(mechanism, uniform, total).alarm


def test_large_alphabets_are_read_without_a_check() -> None:
    size = 33
    model = type(MODEL).smoothed([1 / size] * size, [[1 / size] * size] * size, smoothing=0.0)
    many = AdaptiveRelease(model, decision_epsilon=0.5, release_epsilon=1.0)
    assert not isinstance(checked_reader(many), PredictingReader)


@pytest.mark.parametrize("name", MECHANISMS)
def test_no_more_numbers_are_held_than_the_limit_however_much_a_release_tells(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit, users, each = 2_000, 30, 10
    monkeypatch.setattr(stream_reports, "_TOLD_AT_ONCE", limit)
    reader = checked_reader(MECHANISMS[name])
    assert reader is not None
    shape = (users * each, 2) if name == "batched" else (users * each,)
    kinds = np.full(users * each, Kind.FRESH)
    shown = Releases(np.zeros(shape, dtype=np.int64), kinds=kinds)
    streams = np.tile(np.arange(users), each)
    sizes = [
        sum(column.size for column in (one.reports, one.noise, one.surprises, one.variances))
        for one in stream_reports.told_by_streams(reader, streams, shown)
    ]
    assert len(sizes) > 1
    assert max(sizes) <= limit
