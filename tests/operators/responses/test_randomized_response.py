"""GRR and OUE: keyed draws follow the law, charges are constant, and what cannot be is refused."""

from hashlib import blake2b
from math import exp

import numpy as np
import pytest

from fugu.operators.budget import Budgeted
from fugu.operators.budget_units import units_of
from fugu.operators.mechanism import Inputs, Releases
from fugu.operators.randomness import DrawScope, KeyedDraws, Secret, record_positions
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.responses.hadamard_response import HadamardResponse
from fugu.operators.responses.optimized_unary_encoding import OptimizedUnaryEncoding
from fugu.operators.responses.randomized_response import (
    LARGEST_ALPHABET,
    WORDS,
    Odds,
    RandomizedResponse,
)
from tests.conformance.example import EPSILONS, Example, Examples, Unusable
from tests.operators.noise.simulated import SMALLEST_P_VALUE, p_value

ROWS = 40_000

Response = GeneralizedRandomizedResponse | OptimizedUnaryEncoding | HadamardResponse

GRR = GeneralizedRandomizedResponse(4, epsilon=1.0)
OUE = OptimizedUnaryEncoding(4, epsilon=1.0)
CHOICE = OptimizedUnaryEncoding(4, epsilon=1.0, output="symbol")
MECHANISMS: list[Response] = [GRR, OUE, CHOICE]


def grr_examples(kind: type[GeneralizedRandomizedResponse]) -> tuple[Example, ...]:
    four = kind(4, 0.5)
    mechanisms = [kind(2, epsilon=1.0), kind(5, epsilon=0.1), kind(3, epsilon=30.0)]
    budgets = [Budgeted(four, total=2.0), Budgeted(four, total=1.0, window=4)]
    return (
        *(Example(grr, np.arange(grr.symbols)) for grr in mechanisms),
        *(Example(budgeted, np.arange(4)) for budgeted in budgets),
    )


def hadamard_examples(kind: type[HadamardResponse]) -> tuple[Example, ...]:
    mechanisms = [kind(2, epsilon=1.0), kind(5, epsilon=0.1), kind(6, epsilon=30.0)]
    budgets = [Budgeted(kind(4, 0.5), total=2.0), Budgeted(kind(3, 0.5), total=1.0, window=4)]
    return (
        *(Example(lrm, np.arange(min(lrm.symbols, 9))) for lrm in mechanisms),
        *(Example(budgeted, np.arange(3)) for budgeted in budgets),
    )


def oue_examples(kind: type[OptimizedUnaryEncoding]) -> tuple[Example, ...]:
    mechanisms = [
        kind(2, epsilon=1.0),
        kind(11, epsilon=0.1),
        kind(3, epsilon=30.0),
        kind(11, epsilon=0.1, output="symbol"),
    ]
    budgets = [
        Budgeted(kind(4, 0.5), total=2.0),
        Budgeted(kind(4, 0.5), total=1.0, window=4, when_exhausted="constant"),
        Budgeted(kind(4, 0.5, output="symbol"), total=2.0),
    ]
    return (
        *(Example(oue, np.arange(oue.symbols)) for oue in mechanisms),
        *(Example(budgeted, np.arange(4)) for budgeted in budgets),
    )


EXAMPLES: Examples = {
    GeneralizedRandomizedResponse: grr_examples,
    HadamardResponse: hadamard_examples,
    OptimizedUnaryEncoding: oue_examples,
}
NUMBERS = {
    "symbols": (0, 1, -1, LARGEST_ALPHABET + 1),
    "epsilon": (*EPSILONS, 50.1, 1e-20),
}
UNUSABLE: Unusable = dict.fromkeys(
    (GeneralizedRandomizedResponse, OptimizedUnaryEncoding, HadamardResponse), NUMBERS
)


def draws(rows: int = ROWS) -> KeyedDraws:
    scope = DrawScope(Secret(bytes(range(32))), "tests", "rr", 1, bytes(32))
    return scope.draws([b"key"] * rows, record_positions("topic", 0, range(rows)))


def released(mechanism: Response, x: int, rows: int = ROWS) -> Releases:
    inputs = Inputs(np.full(rows, x))
    return mechanism.step(mechanism.start(rows), inputs, draws(rows))[1]


@pytest.mark.parametrize("truth", range(4))
@pytest.mark.parametrize("mechanism", [GRR, CHOICE])
def test_keyed_draws_give_the_law_of_every_truth(mechanism: Response, truth: int) -> None:
    is_true = np.arange(4) == truth
    law = np.where(is_true, mechanism.reported_if_true, mechanism.reported_if_other)
    assert law.sum() == pytest.approx(1.0, rel=1e-12)
    assert p_value(released(mechanism, truth).values, law) > SMALLEST_P_VALUE


@pytest.mark.parametrize("truth", range(4))
def test_keyed_draws_set_every_bit_by_itself(truth: int) -> None:
    """All 16 sets, each as likely as the product of its bits."""
    bits = released(OUE, truth).values
    sets = np.array([[number >> symbol & 1 for symbol in range(4)] for number in range(16)])
    chance = np.where(np.arange(4) == truth, 0.5, 1.0 / (exp(1.0) + 1.0))
    law = np.where(sets, chance, 1.0 - chance).prod(axis=1)
    assert p_value(bits @ (1 << np.arange(4)), law) > SMALLEST_P_VALUE


def test_a_chosen_symbol_is_one_of_the_set_of_the_same_draw_unless_it_is_empty() -> None:
    bits, chosen = released(OUE, 2).values, released(CHOICE, 2).values
    empty = ~bits.any(axis=1)
    assert empty.any()
    assert bits[np.arange(ROWS), chosen][~empty].all()
    assert p_value(chosen[empty], np.full(4, 0.25)) > SMALLEST_P_VALUE


@pytest.mark.parametrize("truth", range(4))
def test_keyed_draws_give_every_row_and_sign_as_often_as_the_law_says(truth: int) -> None:
    lrm = HadamardResponse(4, epsilon=1.0)
    drawn = lrm.outcome_of(Releases(released(lrm, truth).values))
    assert p_value(drawn, lrm.release_law(lrm.start(1))[0, truth]) > SMALLEST_P_VALUE


@pytest.mark.parametrize("symbols", [2, 3, 5, 8, 33])
def test_counts_of_rows_and_signs_are_unbiased(symbols: int) -> None:
    """Exactly: the mean over the law is 1 for the true symbol, and 0 for any other one."""
    lrm = HadamardResponse(symbols, epsilon=1.5)
    numbers = np.arange(lrm.outcomes[1])
    halves = lrm.published(numbers).values
    assert lrm.outcome_of(Releases(halves)).tolist() == numbers.tolist()
    p, q = lrm.reported_if_true, lrm.reported_if_other
    means = lrm.release_law(lrm.start(1))[0] @ ((halves - q) / (p - q))
    assert np.abs(means - np.eye(symbols)).max() < 1e-12
    spread = lrm.release_law(lrm.start(1))[0] @ ((halves - q) / (p - q)) ** 2
    assert spread == pytest.approx(((exp(1.5) + 1) / (exp(1.5) - 1)) ** 2, rel=1e-12)


@pytest.mark.parametrize("mechanism", [*MECHANISMS, HadamardResponse(4, epsilon=1.0)])
def test_every_release_costs_the_same_and_a_skipped_position_nothing(
    mechanism: Response,
) -> None:
    state = mechanism.start(2)
    for count in range(1, 4):
        assert mechanism.next_charge(state).tolist() == [mechanism.largest_charge] * 2
        state, releases = mechanism.step(state, Inputs(np.array([0, 3])), draws(2))
        assert state["spent"].tolist() == [count * units_of(1.0)] * 2
    skipped, instead = mechanism.skip(state, releases.values)
    assert skipped["spent"].tolist() == state["spent"].tolist()
    assert instead.values.tolist() == releases.values.tolist()
    assert instead.values[0].shape == np.shape(mechanism.constant)


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1 / 3, 2.0, 49.9])
@pytest.mark.parametrize("others", [1, 7, 1000])
def test_odds_never_exceed_the_declared_epsilon_but_for_rounding_it_up(
    others: int, epsilon: float
) -> None:
    odds = Odds.of(others, epsilon)
    assert odds.favoured + others * odds.each == WORDS
    assert odds.charge <= units_of(epsilon)


def test_with_an_epsilon_beyond_what_words_can_tell_less_is_claimed() -> None:
    """One word of 2^64 is the rarest there is."""
    assert Odds.of(1, 50.0).each == 1
    assert Odds.of(1, 50.0).charge < units_of(44.4)


@pytest.mark.parametrize("symbol", [-1, 4])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_symbol_outside_the_alphabet_is_refused(mechanism: Response, symbol: int) -> None:
    with pytest.raises(ValueError, match=r"outside 0\.\.3"):
        mechanism.step(mechanism.start(1), Inputs(np.array([symbol])), draws(1))


@pytest.mark.parametrize("kind", [GeneralizedRandomizedResponse, OptimizedUnaryEncoding])
@pytest.mark.parametrize(
    ("symbols", "epsilon", "field"),
    [
        (1, 1.0, "symbols"),
        (LARGEST_ALPHABET + 1, 1.0, "symbols"),
        (3, 0.0, "epsilon"),
        (3, float("nan"), "epsilon"),
        (3, 50.1, "epsilon"),
        (3, 1e-20, "epsilon"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused_naming_the_field(
    kind: type[RandomizedResponse], symbols: int, epsilon: float, field: str
) -> None:
    with pytest.raises(ValueError, match=f"^{field}: "):
        kind(symbols, epsilon)


def fixed_run() -> str:
    """Return the digest of releases, which is pinned."""
    hasher = blake2b(digest_size=16)
    for mechanism in MECHANISMS:
        for truth in range(4):
            hasher.update(released(mechanism, truth, rows=500).values.tobytes())
    return hasher.hexdigest()


def test_the_law_digest_changes_with_everything_that_changes_the_law() -> None:
    laws: list[Response] = [
        *MECHANISMS,
        GeneralizedRandomizedResponse(5, epsilon=1.0),
        GeneralizedRandomizedResponse(4, epsilon=1.1),
        OptimizedUnaryEncoding(5, epsilon=1.0),
        OptimizedUnaryEncoding(4, epsilon=1.1),
    ]
    assert len({law.law_digest() for law in laws}) == len(laws)
