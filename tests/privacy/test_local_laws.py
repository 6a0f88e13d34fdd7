"""GRR, OUE and LRM by exact enumeration: the law that `step` draws, word by word, meets its claim.

Nothing here rounds but the last logarithm, which has 60 digits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import product
from math import prod

import numpy as np
import pytest

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.mechanism import Inputs, Integers, Mechanism, Words
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.responses.hadamard_response import HadamardResponse
from fugu.operators.responses.optimized_unary_encoding import OptimizedUnaryEncoding
from tests.privacy.word_counts import word_counts

WORDS = 2**64
LARGEST_WORD = np.uint64(WORDS - 1)
SYMBOLS = range(2, 7)
EPSILONS = [1e-9, 1e-3, 1.0, 3.5, 15.0, 50.0]
CONFIGURATIONS = [*product(SYMBOLS, EPSILONS)]
UNIT = Fraction(1, UNITS_PER_NAT)

Law = list[dict[object, Fraction]]
"""For every input, the probability of every release."""


@dataclass(frozen=True)
class ChosenByPurpose:
    """Hands out, for each purpose, the words `(rows, count)` that a test chose."""

    chosen: Mapping[str, Words]

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        words = self.chosen[purpose].reshape(len(binding), coordinates, count)
        return words


def released(mechanism: Mechanism, truth: int, **words: Words) -> Integers:
    rows = len(words["release"])
    _, releases = mechanism.step(
        mechanism.start(rows), Inputs(np.full(rows, truth)), ChosenByPurpose(words)
    )
    return releases.values


@cache
def grr_law(symbols: int, epsilon: float) -> Law:
    grr = GeneralizedRandomizedResponse(symbols, epsilon)
    law: Law = []
    for truth in range(symbols):

        def symbol(words: Words, truth: int = truth) -> Integers:
            return released(grr, truth, release=words)

        counts = word_counts(symbol, symbols)
        law.append({y: Fraction(count, WORDS) for y, count in enumerate(counts)})
    return law


@cache
def bit_laws(symbols: int, epsilon: float, truth: int) -> list[Fraction]:
    """P(bit is set) for each symbol; its word alone decides, whatever the others are."""
    oue, rng = OptimizedUnaryEncoding(symbols, epsilon), np.random.default_rng(truth)
    laws = []
    for symbol in range(symbols):

        def unset(words: Words, symbol: int = symbol) -> Integers:
            others = rng.integers(WORDS, size=(len(words), symbols), dtype=np.uint64)
            others[:, symbol] = words
            bits = released(oue, truth, release=others)
            return 1 - bits[:, symbol].astype(np.int64)

        laws.append(Fraction(word_counts(unset, 2)[0], WORDS))
    return laws


def oue_law(symbols: int, epsilon: float) -> Law:
    law: Law = []
    for truth in range(symbols):
        chances = bit_laws(symbols, epsilon, truth)
        law.append(
            {
                bits: prod(map(_chance, chances, bits), start=Fraction(1))
                for bits in product([False, True], repeat=symbols)
            }
        )
    return law


def chosen_law(oue: OptimizedUnaryEncoding, bits_law: Law) -> Law:
    """Return the law of the bits after one symbol of each set is chosen."""
    law: Law = [dict.fromkeys(range(oue.symbols), Fraction(0)) for _ in range(oue.symbols)]
    for bits in bits_law[0]:
        assert isinstance(bits, tuple)
        sets = np.where(np.array(bits), np.uint64(0), LARGEST_WORD)

        def choice(words: Words, sets: Words = sets) -> Integers:
            return released(oue, 0, release=np.tile(sets, (len(words), 1)), choose=words)

        for symbol, count in enumerate(word_counts(choice, oue.symbols)):
            for truth, of_bits in enumerate(bits_law):
                law[truth][symbol] += of_bits[bits] * Fraction(count, WORDS)
    return law


def worst(law: Law) -> Fraction:
    """The largest |ln P(release given one truth) / P(release given another)|."""
    assert all(sum(row.values()) == 1 for row in law)
    ratios = [max(row[y] for row in law) / min(row[y] for row in law) for y in law[0]]
    with localcontext() as context:
        context.prec = 60
        return Fraction((Decimal(max(ratios).numerator) / Decimal(max(ratios).denominator)).ln())


def _chance(of_one: Fraction, bit: bool) -> Fraction:
    return of_one if bit else 1 - of_one


@pytest.mark.parametrize(("symbols", "epsilon"), CONFIGURATIONS)
def test_grr_leaks_exactly_what_it_claims_and_charges(symbols: int, epsilon: float) -> None:
    grr = GeneralizedRandomizedResponse(symbols, epsilon)
    law = grr_law(symbols, epsilon)
    [guarantee] = grr.guarantees()
    claimed = Fraction(guarantee.epsilon)
    assert claimed - UNIT < worst(law) <= claimed
    assert claimed <= Fraction(epsilon) + UNIT
    assert (guarantee.delta, guarantee.finite_precision_delta) == (0.0, 0.0)
    assert grr.largest_charge * UNIT == claimed
    written = grr.release_law(grr.start(1))[0]
    assert [[float(row[y]) for y in range(symbols)] for row in law] == written.tolist()


@pytest.mark.slow
@pytest.mark.parametrize(("symbols", "epsilon"), CONFIGURATIONS)
def test_oue_leaks_exactly_what_it_claims_and_charges(symbols: int, epsilon: float) -> None:
    oue = OptimizedUnaryEncoding(symbols, epsilon)
    law = oue_law(symbols, epsilon)
    [guarantee] = oue.guarantees()
    claimed = Fraction(guarantee.epsilon)
    assert claimed - UNIT < worst(law) <= claimed
    assert claimed <= Fraction(epsilon) + UNIT
    assert (guarantee.delta, guarantee.finite_precision_delta) == (0.0, 0.0)
    assert oue.largest_charge * UNIT == claimed


@pytest.mark.parametrize(("symbols", "epsilon"), [*product([2, 4, 5], [1e-3, 1.0, 15.0])])
def test_a_symbol_chosen_from_the_bits_leaks_no_more(symbols: int, epsilon: float) -> None:
    oue = OptimizedUnaryEncoding(symbols, epsilon, output="symbol")
    law = chosen_law(oue, oue_law(symbols, epsilon))
    assert 0 < worst(law) < oue.largest_charge * UNIT
    for truth, row in enumerate(law):
        for symbol, probability in row.items():
            expected = oue.reported_if_true if symbol == truth else oue.reported_if_other
            assert float(probability) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(("symbols", "epsilon"), CONFIGURATIONS)
def test_the_laws_are_those_of_the_specification(symbols: int, epsilon: float) -> None:
    with localcontext() as context:
        context.prec = 60
        growth = Fraction(Decimal(epsilon).exp())
    near = Fraction(1, 2**60)
    bits = bit_laws(symbols, epsilon, 0)
    for truth, row in enumerate(grr_law(symbols, epsilon)):
        for symbol, probability in row.items():
            weight = growth if symbol == truth else 1
            assert abs(probability - weight / (growth + symbols - 1)) < near
    assert bits[0] == Fraction(1, 2)
    assert all(abs(chance - 1 / (growth + 1)) < near for chance in bits[1:])


@cache
def lrm_law(symbols: int, epsilon: float) -> Law:
    """The row is the first bits of its word; the sign is counted word by word."""
    lrm = HadamardResponse(symbols, epsilon)
    law: Law = [{} for _ in range(symbols)]
    for truth, row in product(range(symbols), range(lrm.matrix_rows)):
        first = np.uint64(row * (WORDS // lrm.matrix_rows))

        def sign(words: Words, truth: int = truth, first: np.uint64 = first) -> Integers:
            halves = released(lrm, truth, row=np.full(words.shape, first), release=words)
            return lrm.coded(halves)[1]

        for positive, count in enumerate(word_counts(sign, 2)):
            law[truth][row, positive] = Fraction(count, WORDS * lrm.matrix_rows)
    return law


@pytest.mark.parametrize(("symbols", "epsilon"), CONFIGURATIONS)
def test_lrm_leaks_exactly_what_it_claims_and_charges(symbols: int, epsilon: float) -> None:
    lrm, law = HadamardResponse(symbols, epsilon), lrm_law(symbols, epsilon)
    assert all(sum(chances.values()) == 1 for chances in law)
    [guarantee] = lrm.guarantees()
    claimed = Fraction(guarantee.epsilon)
    assert worst(law) <= claimed < worst(law) + UNIT
    assert lrm.largest_charge * UNIT == claimed
