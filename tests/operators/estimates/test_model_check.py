"""Under the model surprises add up to nothing; under another truth they do not."""

import numpy as np
import pytest

from fugu.operators.estimates.model_check import ModelCheck, SurpriseSums
from fugu.operators.estimates.shares import DifferenceReader
from fugu.operators.estimates.stream_reports import told_by_streams
from fugu.operators.mechanism import Inputs, Integers, Kind, Releases
from fugu.operators.randomness import DrawScope, Secret, record_positions
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.kernels import Mode
from fugu.operators.sip.markov_model import MarkovModel

ROWS = np.array([[0.90, 0.08, 0.02], [0.10, 0.80, 0.10], [0.03, 0.12, 0.85]])
MODEL = MarkovModel.smoothed([0.4, 0.3, 0.3], ROWS.tolist(), smoothing=0.0)
USERS, EACH = 150, 20


def checked(truth: Integers, mode: Mode, seed: int) -> ModelCheck:
    """Release the truth, and compare the releases with the model."""
    crr = ConditionalRandomizedResponse(MODEL, epsilon=1.0, mode=mode)
    users = len(truth)
    scope = DrawScope(Secret(bytes(32)).derive(seed), "check", "crr", 1, crr.law_digest())
    keys, state, steps = [b"%d" % user for user in range(users)], crr.start(users), []
    for step in range(truth.shape[1]):
        draws = scope.draws(keys, record_positions("source", 0, [step] * users))
        state, releases = crr.step(state, Inputs(truth[:, step]), draws)
        steps.append(releases.values)
    values = np.concatenate(steps)
    streams = np.tile(np.arange(users), truth.shape[1])
    sums = SurpriseSums(3)
    fresh = Releases(values, kinds=np.full(len(values), Kind.FRESH))
    for told in told_by_streams(DifferenceReader(crr), streams, fresh):
        its = streams[told.places]
        sums.add(its, values[told.places], told.surprises, told.variances)
    return sums.check()


def of_the_model(seed: int) -> Integers:
    rng = np.random.default_rng(seed)
    truth = np.zeros((USERS, EACH), dtype=np.int64)
    for step in range(EACH):
        law = np.tile(MODEL.prior, (USERS, 1)) if step == 0 else ROWS[truth[:, step - 1]]
        truth[:, step] = (law.cumsum(axis=1)[:, :-1] < rng.random((USERS, 1))).sum(axis=1)
    return truth


@pytest.mark.parametrize("mode", ["optimal", "full_support"])
def test_a_right_model_raises_no_alarm_and_a_wrong_one_does(mode: Mode) -> None:
    for seed in range(3):
        check = checked(of_the_model(seed), mode, seed)
        assert not check.alarm
        assert check.symbols == USERS * EACH
    uniform = np.random.default_rng(0).integers(0, 3, (USERS, EACH))
    check = checked(uniform, mode, seed=0)
    assert check.alarm
    assert check.deviations[0].p < 1e-6


def test_few_releases_are_not_judged() -> None:
    truth = np.random.default_rng(0).integers(0, 3, (3, 5))
    assert checked(truth, "optimal", seed=0).deviations == ()


@pytest.mark.parametrize("mode", ["optimal", "full_support"])
def test_what_is_expected_is_the_law_averaged_over_the_belief(mode: Mode) -> None:
    crr = ConditionalRandomizedResponse(MODEL, epsilon=0.7, mode=mode)
    belief = np.random.default_rng(3).dirichlet([1.0, 0.3, 0.1], 50).T
    law = crr.law(np.ascontiguousarray(belief))
    truths = np.indices((3, 50))[0]
    each = np.stack([law.probabilities(truth) for truth in truths], axis=0)
    averaged = (belief[:, None, :] * each).sum(axis=0)
    assert np.allclose(law.expected_releases(), averaged, atol=1e-12)
