"""Robust release: configuration, exact laws, the sampler, and the errors of section 7."""

import re
from math import ceil, exp

import numpy as np
import pytest

from fugu.operators.budget import Budgeted
from fugu.operators.mechanism import Inputs
from fugu.operators.sip.distances import Ordered, Points
from fugu.operators.sip.inputs import Gaps
from fugu.operators.sip.kernels import Mode
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.model_sets import BeliefEnvelope, ModelIntervals
from fugu.operators.sip.robust_release import RobustRelease
from tests.conformance.example import EPSILONS, Example, Examples, Unusable
from tests.operators.chosen_draws import simulated
from tests.operators.sip.exact_leakage import ExactLaw
from tests.operators.sip.model_sets import corners
from tests.operators.sip.small_models import cycle, only, sparse, sticky
from tests.privacy.chains import binary, random_chain

WALK = MarkovModel.smoothed([0.5, 0.3, 0.2], 0.7 * np.eye(3) + 0.1, smoothing=0.05)


def examples(kind: type[RobustRelease]) -> tuple[Example, ...]:
    within, wide = ModelIntervals.around(WALK, share=0.1), ModelIntervals.around(WALK, amount=0.1)
    minutes = Gaps(step_milliseconds=60_000, longest=5)
    in_time = kind(WALK, 1.0, gaps=minutes, intervals=within)
    places = Points(np.array([[0.0, 0.0], [0.5, 1.0], [4.0, 4.0]]))
    made: list[RobustRelease | Budgeted] = [
        kind(sticky(), 1.0, intervals=ModelIntervals.around(sticky(), share=0.1)),
        Budgeted(kind(WALK, 1.0, intervals=within), total=4.0),
        kind(cycle(), 30.0, intervals=ModelIntervals.around(cycle(), share=0.02)),
        kind(only(), 1.0, intervals=ModelIntervals.around(only(), share=0.5)),
        in_time,
        Budgeted(in_time, total=2.5, window=4),
        kind(WALK, 0.8, mode="full_support", intervals=wide),
        kind(WALK, 0.8, Ordered(), intervals=wide),
        kind(WALK, 2.0, places, intervals=wide),
        kind(WALK, 0.8, Ordered(), kernel="linear_program", intervals=wide),
    ]
    return tuple(Example(one, np.arange(one.outcomes[0])) for one in made)


EXAMPLES: Examples = {RobustRelease: examples}
UNUSABLE: Unusable = {RobustRelease: {"epsilon": (*EPSILONS, 50.1)}}


@pytest.mark.parametrize(
    ("model", "around", "reason"),
    [
        (sticky(), WALK, "within: is about 3 symbols, the model has 2"),
        (sticky(), binary(stays=0.5, first=0.5), "within: the model itself must be in the set"),
    ],
)
def test_a_set_of_other_models_is_refused(
    model: MarkovModel, around: MarkovModel, reason: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        RobustRelease(model, 1.0, intervals=ModelIntervals.around(around, share=0.1))


def test_chains_without_a_matrix_and_large_alphabets_are_refused() -> None:
    around = ModelIntervals.around(sticky())
    with pytest.raises(ValueError, match="model: only a matrix of first order"):
        RobustRelease(sparse(), 1.0, intervals=around)
    many = MarkovModel(np.full(65, 1 / 65), np.full((65, 65), 1 / 65))
    with pytest.raises(ValueError, match="has 65 symbols, and a set of models at most 64"):
        RobustRelease(many, 1.0, intervals=ModelIntervals.around(many))


def test_sets_of_equal_width_have_promises_of_their_own() -> None:
    promises = {
        RobustRelease(model, 1.0, intervals=ModelIntervals.around(model, amount=0.05)).guarantees()
        for model in (binary(stays=0.9, first=0.5), binary(stays=0.8, first=0.5))
    }
    assert len(promises) == 2


def test_other_intervals_are_another_law() -> None:
    digests = {
        RobustRelease(WALK, 1.0, intervals=ModelIntervals.around(WALK, share=share)).law_digest()
        for share in (0.0, 0.1, 0.100001)
    }
    assert len(digests) == 3


@pytest.mark.parametrize("symbols", [2, 3])
def test_every_belief_of_the_envelope_is_private_in_whole_words(symbols: int) -> None:
    """Look at corners: what is most or least likely to be released is so at one of them."""
    rng = np.random.default_rng(symbols)
    varies = 0
    for _ in range(30):
        epsilon = float(np.exp(rng.uniform(np.log(0.01), np.log(12.0))))
        model = random_chain(rng, symbols)
        share = float(rng.choice([0.0, 0.02, 0.3]))
        around = ModelIntervals.around(model, share=share, amount=float(rng.choice([0.0, 0.05])))
        mode: Mode = "optimal" if rng.random() < 0.5 else "full_support"
        robust = RobustRelease(model, epsilon, mode=mode, intervals=around)
        state = robust.start(1)
        for _ in range(3):
            law = robust._law_at(state)
            if not law.constant[0]:
                varies += 1
                words = np.stack([law.weights(np.array([x]))[:, 0] for x in range(symbols)])
                charge = int(law.charge[0])
                assert charge <= ceil(epsilon * 2**40)
                for corner in corners(state["low"][0], state["high"][0]):
                    exact = ExactLaw(np.array(corner, dtype=object), words)
                    assert exact.rows_are_complete
                    assert exact.forgets_nothing
                    assert exact.excess(epsilon) <= 0
                    assert exact.unpaid(charge) <= 0
                assert exact.local_excess(epsilon) <= 0
            state = robust.follow(state, law.draw(rng.integers(symbols, size=1), _word(rng)))
    assert varies > 25


def _word(rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return rng.integers(2**64, size=1, dtype=np.uint64)


def test_releases_are_drawn_as_the_law_says() -> None:
    rng, rows = np.random.default_rng(7), 40_000
    robust = RobustRelease(WALK, 1.0, intervals=ModelIntervals.around(WALK, share=0.1))
    for truth in range(3):
        state = robust.start(rows)
        law = robust.release_law(robust.start(1))[0, truth]
        _, releases = robust.step(state, Inputs(np.full(rows, truth)), simulated(rng, rows))
        counted = np.bincount(releases.values, minlength=3)
        possible = law > 0.0
        assert counted[~possible].sum() == 0
        squares = (counted - rows * law)[possible] ** 2 / (rows * law[possible])
        assert squares.sum() < 20.0


def test_a_gap_ages_the_envelope_step_by_step() -> None:
    minutes = Gaps(step_milliseconds=60_000, longest=5)
    robust = RobustRelease(
        WALK, 1.0, gaps=minutes, intervals=ModelIntervals.around(WALK, share=0.1)
    )
    state = robust.follow(robust.elapse(robust.start(2), np.array([10, 10])), np.array([0, 1]))
    after = robust.elapse(state, np.array([13, 11]))
    envelope = BeliefEnvelope(state["low"][:1].T, state["high"][:1].T)
    for _ in range(2):
        envelope = envelope.predicted(robust.intervals)
    assert after["low"][0].tolist() == envelope.low[:, 0].tolist()
    assert after["high"][0].tolist() == envelope.high[:, 0].tolist()
    assert after["low"][1].tolist() == state["low"][1].tolist()


def test_a_long_gap_costs_only_the_steps_that_change_something() -> None:
    """The bits are those of every step; a chain that forgets has settled long before."""
    longest = Gaps(step_milliseconds=60_000, longest=10_000)
    robust = RobustRelease(
        WALK, 1.0, gaps=longest, intervals=ModelIntervals.around(WALK, share=0.1)
    )
    state = robust.follow(robust.elapse(robust.start(2), np.array([10, 10])), np.array([0, 1]))
    envelope = BeliefEnvelope(state["low"][:1].T, state["high"][:1].T)
    for _ in range(400):
        envelope = envelope.predicted(robust.intervals)
    after = robust.elapse(state, np.array([10_000, 411]))
    assert after["low"][0].tolist() == envelope.low[:, 0].tolist()
    assert after["high"][0].tolist() == envelope.high[:, 0].tolist()


@pytest.mark.parametrize(
    ("low", "high", "row"),
    [
        ([0.0, np.nan, 0.0], [1.0, 1.0, 1.0], 1),
        ([0.6, 0.0, 0.0], [0.5, 1.0, 1.0], 1),
        ([-0.1, 0.0, 0.0], [1.0, 1.0, 1.0], 1),
        ([0.5, 0.5, 0.1], [1.0, 1.0, 1.0], 1),
        ([0.0, 0.0, 0.0], [0.3, 0.3, 0.3], 1),
    ],
)
def test_a_damaged_envelope_is_refused_and_never_a_constant_for_ever(
    low: list[float], high: list[float], row: int
) -> None:
    robust = RobustRelease(WALK, 1.0, intervals=ModelIntervals.around(WALK, share=0.1))
    state = robust.start(3)
    state["low"][row], state["high"][row] = low, high
    with pytest.raises(ValueError, match=f"the envelope of row {row} holds no distribution"):
        robust.follow(state, np.zeros(3, dtype=np.int64))


WIDTHS: list[dict[str, float]] = [
    {},
    {"share": 0.02},
    {"share": 0.1},
    {"amount": 0.02},
    {"amount": 0.05},
    {"amount": 0.1},
]
PRINTED = {
    0.5: [0.287, 0.289, 0.298, 0.309, 0.339, 0.369],
    1.0: [0.164, 0.165, 0.172, 0.181, 0.208, 0.249],
    2.0: [0.035, 0.037, 0.044, 0.053, 0.078, 0.116],
    3.0: [0.009, 0.009, 0.009, 0.010, 0.011, 0.047],
}


@pytest.mark.acceptance
@pytest.mark.parametrize("epsilon", PRINTED)
@pytest.mark.parametrize("column", range(len(WIDTHS)))
def test_the_page_about_models_prints_the_error_of_each_set(epsilon: float, column: int) -> None:
    """200 sequences of 300 of another seed: both have an error of some 0.007 sqrt(p)."""
    rng, model = np.random.default_rng(29), binary(stays=0.9, first=0.5)
    around = ModelIntervals.around(model, **WIDTHS[column])
    robust = RobustRelease(model, epsilon, intervals=around)
    rows, steps = 200, 300
    state, wrong = robust.start(rows), 0
    truth = rng.integers(2, size=rows)
    for _ in range(steps):
        state, releases = robust.step(state, Inputs(truth), simulated(rng, rows))
        wrong += int((releases.values != truth).sum())
        truth = np.where(rng.random(rows) < 0.9, truth, 1 - truth)
    printed = PRINTED[epsilon][column]
    assert wrong / (rows * steps) == pytest.approx(printed, abs=0.025 * printed**0.5)


SECTION_7 = [
    pytest.param({}, 0.172, marks=pytest.mark.acceptance),
    pytest.param({"share": 0.02}, 0.170, marks=pytest.mark.acceptance),
    pytest.param({"share": 0.1}, 0.178),
    pytest.param({"amount": 0.02}, 0.193, marks=pytest.mark.acceptance),
    pytest.param({"amount": 0.05}, 0.217, marks=pytest.mark.acceptance),
    pytest.param({"amount": 0.1}, 0.258, marks=pytest.mark.acceptance),
]


@pytest.mark.slow
@pytest.mark.parametrize(("within", "printed"), SECTION_7)
def test_section_7_has_the_error_at_epsilon_1(within: dict[str, float], printed: float) -> None:
    """40 sequences of 300: the standard error is about 0.004, that of the table 0.005."""
    rng, model = np.random.default_rng(28), binary(stays=0.9, first=0.5)
    robust = RobustRelease(model, 1.0, intervals=ModelIntervals.around(model, **within))
    rows, steps = 40, 300
    state, wrong = robust.start(rows), 0
    truth = rng.integers(2, size=rows)
    for _ in range(steps):
        state, releases = robust.step(state, Inputs(truth), simulated(rng, rows))
        wrong += int((releases.values != truth).sum())
        truth = np.where(rng.random(rows) < 0.9, truth, 1 - truth)
    assert wrong / (rows * steps) == pytest.approx(printed, abs=0.02)
    assert wrong / (rows * steps) < 1.0 / (exp(1.0) + 1.0)
