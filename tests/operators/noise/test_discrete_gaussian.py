"""The table of the Gaussian sampler, derived a second time, and what is drawn with it."""

from decimal import Decimal, localcontext
from math import log2

import numpy as np
import pytest
from scipy import stats

from fugu.operators.byte_fields import binding_digest
from fugu.operators.mechanism import Integers
from fugu.operators.noise import discrete_gaussian
from fugu.operators.noise.discrete_gaussian import (
    LARGEST,
    WORDS_PER_DRAW,
    sample,
    table,
)
from fugu.operators.noise.gaussian_precision import TAUS, UNITS
from fugu.operators.randomness import DrawScope, record_positions
from fugu.operators.secret import Secret
from tests.operators.noise import derivation
from tests.operators.noise.simulated import SMALLEST_P_VALUE, p_value

ENTRIES = 163_841
DRAWS = 1_000_000
DEVIATION = 2.0**14
WORD = Decimal(2**64)


@pytest.fixture(scope="module")
def probabilities() -> list[Decimal]:
    """P(|X| = k) for every entry of the table."""
    return derivation.gaussian_probabilities(ENTRIES - 1)


def test_every_entry_is_the_derived_one_and_none_is_near_another_rounding(
    probabilities: list[Decimal],
) -> None:
    derived, nearest, sum_so_far = [], Decimal(1), Decimal(0)
    with localcontext() as context:
        context.prec = derivation.DIGITS
        for probability in probabilities:
            sum_so_far += probability
            scaled = sum_so_far * WORD
            derived.append(min(2**64 - 1, int(scaled.to_integral_value())))
            nearest = min(nearest, abs(scaled % 1 - Decimal("0.5")))
    assert table().tolist() == derived
    assert nearest > Decimal(2) ** -19


def test_derived_probabilities_are_those_of_the_definition(probabilities: list[Decimal]) -> None:
    with localcontext() as context:
        context.prec = derivation.DIGITS
        for k in [1, 2, *range(7, ENTRIES, 1009)]:
            defined = 2 * derivation.gaussian_weight(k) / derivation.gaussian_total()
            assert abs(probabilities[k] / defined - 1) < Decimal("1e-80")


def test_the_table_has_the_check_values_of_the_specification() -> None:
    entries = table()
    assert len(entries) == ENTRIES == LARGEST
    assert [int(entries[k]) for k in (0, 1, 1000, 16384)] == [
        449169076339557,
        1347507227345386,
        898229035414522219,
        12593670775308417292,
    ]


def test_a_table_that_came_out_wrong_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discrete_gaussian, "TABLE_DIGEST", "00" * 32)
    with pytest.raises(ArithmeticError, match="table"):
        table.__wrapped__()


def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        table()[0] = 0


def test_the_total_variation_is_within_what_is_stated(probabilities: list[Decimal]) -> None:
    steps = np.diff(table().astype(object), prepend=0).tolist()
    with localcontext() as context:
        context.prec = derivation.DIGITS
        distance = sum(
            abs(Decimal(step) / WORD - probability)
            for step, probability in zip(steps, probabilities, strict=True)
        )
        beyond = 1 - sum(probabilities)
        distance = (distance + beyond + 1 / WORD) / 2
        stated = Decimal(ENTRIES) / 2 / WORD + beyond
    assert distance < stated
    assert abs(Decimal(TAUS[0]) / UNITS / distance - 1) < Decimal("1e-10")
    assert log2(beyond) < -75


def test_a_word_is_compared_with_every_entry() -> None:
    entries = table()
    chosen = np.array([0, 1, 5, 1000, 16384, 100_000])
    at = np.stack([entries[chosen], np.zeros(6, dtype=np.uint64)], axis=-1)
    below = np.stack([entries[chosen] - 1, np.full(6, 2**63, dtype=np.uint64)], axis=-1)
    assert sample(at).tolist() == (chosen + 1).tolist()
    assert sample(below).tolist() == (-chosen).tolist()


def check_law(drawn: Integers, parts: int) -> None:
    """Chi-square over `parts` ranges of magnitude of about the same probability, and both signs.

    P(|X| <= k) is that of the continuous law at k + 1/2, up to 1e-9.
    """
    shares = np.arange(1, parts) / parts
    edges = np.floor(DEVIATION * stats.halfnorm.ppf(shares)).astype(np.int64)
    upper = np.append(stats.halfnorm.cdf((edges + 0.5) / DEVIATION), 1.0)
    ranges = np.searchsorted(edges, np.abs(drawn))
    assert p_value(ranges, np.diff(upper, prepend=0.0)) > SMALLEST_P_VALUE
    negative = (drawn[drawn != 0] < 0).astype(np.int64)
    assert p_value(negative, np.array([0.5, 0.5])) > SMALLEST_P_VALUE


def test_a_million_draws_follow_the_law() -> None:
    rng = np.random.default_rng(21)
    drawn = sample(rng.integers(2**64, size=(DRAWS, WORDS_PER_DRAW), dtype=np.uint64))
    check_law(drawn, parts=500)
    assert abs(drawn.mean()) < 3.0 * DEVIATION / np.sqrt(DRAWS)
    assert abs(drawn.var() / DEVIATION**2 - 1.0) < 0.01


def test_draws_from_keyed_words_follow_the_law() -> None:
    rows = 20_000
    scope = DrawScope(Secret(bytes(32)), "p", "o", 1, bytes(32))
    draws = scope.draws([b"key"] * rows, record_positions("t", 0, range(rows)))
    words = draws.words("release", [binding_digest(0)] * rows, count=WORDS_PER_DRAW)
    drawn = sample(words)
    assert drawn.shape == (rows, 1)
    check_law(drawn[:, 0], parts=100)
