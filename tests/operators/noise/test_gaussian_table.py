"""The table of the Gaussian sampler, derived a second time, and what is drawn with it."""

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import product
from math import exp, log2

import numpy as np
import pytest
from scipy import stats

from fugu.operators.columns import binding_digest
from fugu.operators.mechanism import Integers
from fugu.operators.noise import gaussian_table
from fugu.operators.noise.gaussian_table import (
    LARGEST,
    PER_DEVIATION,
    TAUS,
    UNITS,
    WORDS_PER_DRAW,
    delta_of_draw,
    sample,
    table,
)
from fugu.operators.randomness import DrawScope, Secret, record_positions
from tests.operators.noise import derivation
from tests.operators.noise.simulated import SMALLEST_P_VALUE, p_value
from tests.operators.noise.toy_tables import DIGITS, Table, total_of

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
    monkeypatch.setattr(gaussian_table, "TABLE_DIGEST", "00" * 32)
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


# Bound what finite precision adds to draws from the table of the discrete Gaussian.


SIGMA = 2**14
_BITS = 208
_SHORT = 128


@cache
def weights() -> list[int]:
    """e^(-k^2 / (2 sigma^2)) for k = 0, 1, ... until it is below 2^-208, in such units."""
    ratio = gaussian_table._exponential()
    square, weight, found = ratio * ratio >> _BITS, 1 << _BITS, []
    while weight:
        found.append(weight)
        weight, ratio = weight * ratio >> _BITS, ratio * square >> _BITS
    return found


@cache
def missing() -> list[int]:
    """a(k), in units of 2^-128 and rounded up."""
    words = np.diff(np.append(table().astype(object), 2**64), prepend=0).tolist()
    total = weights()[0] + 2 * sum(weights()[1:])
    found = []
    for k, weight in enumerate(weights()[: LARGEST + 1]):
        ideal = weight * (2 if k else 1) << 64
        found.append(max(0, -(-((ideal - words[k] * total) << _SHORT) // ideal)))
    return found


@cache
def tau(shift: int) -> Fraction:
    """The sum of p(x) a(x + shift) for the table that is drawn from."""
    likely, short = weights(), missing()
    weight = dict(enumerate(likely)).get
    inside = sum(weight(abs(x - shift), 0) * short[abs(x)] for x in range(-LARGEST, LARGEST + 1))
    beyond = sum(likely[LARGEST + 1 + shift :]) + sum(
        weight(abs(x - shift), 0) for x in range(LARGEST + 1, shift + len(likely))
    )
    total = likely[0] + 2 * sum(likely[1:])
    return Fraction(inside + (beyond << _SHORT), total << _SHORT)


@pytest.mark.parametrize("column", [0, 1, 16, 63, 128])
def test_a_column_is_the_derived_one_rounded_up(column: int) -> None:
    derived = tau(column * SIGMA // PER_DEVIATION)
    assert derived <= Fraction(TAUS[column], UNITS) <= derived + Fraction(3, UNITS)


@pytest.mark.parametrize("shift", [1, 163, 1638, 5000, 20_011, 41_779, 65_000])
def test_between_two_columns_the_next_one_is_enough_and_not_much_too_much(shift: int) -> None:
    column = -(-shift * PER_DEVIATION // SIGMA)
    assert tau(shift) <= Fraction(TAUS[column], UNITS) <= tau(shift) * Fraction(5, 4)


def test_columns_grow() -> None:
    assert list(TAUS) == sorted(TAUS)


@pytest.mark.parametrize(
    ("deviations", "printed"),
    [
        (0.01, 2.56e-15),
        (0.1, 2.71e-15),
        (0.5, 1.11e-14),
        (1.0, 2.58e-13),
        (2.0, 1.65e-10),
        (2.55, 4.36e-9),
        (3.0, 5.28e-8),
    ],
)
def test_section_4_has_what_a_draw_adds(deviations: float, printed: float) -> None:
    shift = round(deviations * SIGMA)
    assert float(tau(0) + tau(shift)) == pytest.approx(printed, rel=0.005)
    stated = float(delta_of_draw(shift, epsilon=50.0))
    assert 0.999 * printed <= stated <= 1.25 * printed


@pytest.mark.parametrize(("epsilon", "printed"), [(1.0, 4.8e-15), (3.0, 2.7e-14), (5.0, 1.9e-13)])
def test_a_draw_adds_no_more_than_its_error_wherever_neighbours_are(
    epsilon: float, printed: float
) -> None:
    stated = float(delta_of_draw(10**9, epsilon))
    assert stated == pytest.approx((1.0 + exp(epsilon)) * 1.2777e-15, rel=1e-4)
    assert stated == pytest.approx(printed, rel=0.02)


def test_the_error_of_the_table_is_the_one_that_is_printed() -> None:
    assert float(tau(0)) == pytest.approx(1.28e-15, rel=0.005)
    assert np.flatnonzero(np.diff(table())).max() + 1 == 149_281


_NEAR = Decimal("1e-25")
TOYS = [Table(sigma, bits) for sigma, bits in product((3, 5), (6, 8, 10, 13, 16))]


def delta(one: dict[int, Decimal], shift: int, epsilon: float, draws: int) -> Decimal:
    """The exact delta at `epsilon` of draws from this law, each moved by `shift`."""
    with localcontext() as context:
        context.prec = DIGITS
        growth, none = Decimal(epsilon).exp(), Decimal(0)
        near = {x: p for x, p in one.items() if p > _NEAR}
        points = sorted({*near, *(x + shift for x in near)})
        pairs = [(near.get(x, none), near.get(x - shift, none)) for x in points]
        if draws == 1:
            return total_of(max(none, p - growth * q) for p, q in pairs)
        return total_of(
            max(none, p * r - growth * q * s) for (p, q), (r, s) in product(pairs, repeat=2)
        )


@pytest.mark.parametrize("toy", TOYS, ids=lambda toy: f"{toy.sigma}-{toy.bits}")
def test_no_toy_table_exceeds_what_is_said_by_exact_enumeration(toy: Table) -> None:
    for shift, epsilon in product((1, toy.sigma, 3 * toy.sigma), (0.1, 1.0, 3.0)):
        each = toy.distance + min(toy.tau(shift), Decimal(epsilon).exp() * toy.distance)
        for draws in (1, 2) if toy.sigma == 3 else (1,):
            ideal = delta(toy.ideal, shift, epsilon, draws)
            drawn = delta(toy.drawn, shift, epsilon, draws)
            assert drawn <= ideal + draws * each + Decimal("1e-20")


def test_coarse_tables_come_close_to_what_is_said() -> None:
    """The bound is not empty: the ideal delta alone is exceeded."""
    exceeded = 0
    for toy in TOYS:
        for epsilon in (0.1, 1.0, 3.0):
            ideal, drawn = (delta(law, toy.sigma, epsilon, 1) for law in (toy.ideal, toy.drawn))
            exceeded += drawn > ideal + toy.distance / 10
    assert exceeded >= 5
