"""Budgets tick by tick: the printed vectors, and windows that are never charged too much."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fugu.operators.mechanism import Array, Integers
from fugu.operators.wevent.allocation import Cap, Rule
from tests.operators.wevent.charges import RULES, Allocated, Outcome, allocate

NAT = 2**40
EPSILON = 30 * NAT
"""Divisible by all denominators below."""

FRACTIONS = [
    (
        "the worked example",
        ("pba", 3, "10111", "00011"),
        "1/8 0 1/16 3/16 3/32",
    ),
    (
        "all published and flagged",
        ("pba", 3, "111111111", "111111111"),
        "1/4 1/8 1/16 5/32 9/64 13/128 33/256 69/512 121/1024",
    ),
    (
        "budget distribution is that",
        ("budget_distribution", 3, "111111111", "000000000"),
        "1/4 1/8 1/16 5/32 9/64 13/128 33/256 69/512 121/1024",
    ),
    (
        "all published, none flagged",
        ("pba", 4, "11111111", "00000000"),
        "1/8 1/16 1/32 1/64 9/128 17/256 25/512 33/1024",
    ),
    ("windows of one tick", ("pba", 1, "1101", "1011"), "1/4 1/8 0 1/4"),
    ("absorption", ("budget_absorption", 3, "0110011", "0000000"), "0 1/3 0 0 0 1/2 0"),
    (
        "figure 6.3 of the thesis",
        ("pba_ldp", 3, "1001111", "0000100"),
        "1/6 0 0 1/6 1/3 0 1/6",
    ),
    (
        "donors of a window of five",
        ("pba_ldp", 5, "100110111001", "110100111011"),
        "1/10 0 0 1/5 0 0 1/5 0 1/5 0 0 1/5",
    ),
    ("a window of one never absorbs", ("pba_ldp", 1, "1011", "1111"), "1/2 0 1/2 1/2"),
    ("an even share", ("uniform", 3, "0000", "0000"), "1/3 1/3 1/3 1/3"),
    ("one sample per window", ("sample", 3, "00000", "00000"), "1 0 0 1 0"),
]


def bits(text: str) -> Integers:
    return np.array([[int(bit) for bit in text]])


@pytest.mark.parametrize(
    ("case", "expected"), [case[1:] for case in FRACTIONS], ids=[case[0] for case in FRACTIONS]
)
def test_publications_are_the_printed_fractions_of_epsilon(
    case: tuple[str, int, str, str], expected: str
) -> None:
    method, window, wishes, flags = case
    charged = allocate(
        method, window=window, epsilon=EPSILON, wishes=bits(wishes), flags=bits(flags)
    )
    shares = [Fraction(units, EPSILON) for units in charged.publication[0].tolist()]
    assert shares == [Fraction(share) for share in expected.split()]


def test_the_largest_window_of_the_worked_example_is_27_of_32() -> None:
    charged = allocate("pba", window=3, epsilon=EPSILON, wishes=bits("10111"), flags=bits("00011"))
    assert set(charged.decision[0].tolist()) == {EPSILON // 6}
    windows = window_sums(charged, 3)[0]
    assert windows[4] == windows.max() == Fraction(27, 32) * EPSILON


def test_shares_of_the_worked_example_are_half_of_what_the_rule_remembers() -> None:
    rule = RULES["pba"](3, EPSILON)
    state, shares = rule.start(1), []
    for wish, flag in zip([1, 0, 1, 1, 1], [0, 0, 0, 1, 1], strict=True):
        offer = rule.offer(state, np.array([bool(flag)]))
        state = rule.settle(state, offer, np.array([bool(wish)]))
        shares.append(Fraction(int(offer.share[0]) * wish, 2 * EPSILON))
    assert shares == [Fraction(s) for s in ("1/8", "0", "1/16", "3/32", "3/64")]


def test_absorption_is_followed_by_silence() -> None:
    charged = allocate("budget_absorption", window=3, epsilon=EPSILON, wishes=bits("0110011"))
    published, skipped, impossible = Outcome.PUBLISHED, Outcome.SKIPPED, Outcome.IMPOSSIBLE
    assert charged.outcome[0].tolist() == [
        skipped, published, impossible, skipped, skipped, published, impossible,
    ]  # fmt: skip


def window_sums(charged: Allocated, window: int) -> Integers:
    """Add up every `window` consecutive ticks, and all shorter beginnings."""
    total = charged.decision + charged.publication
    padded = np.concatenate([np.zeros((len(total), window), dtype=np.int64), total], axis=1)
    running = np.cumsum(padded, axis=1)
    sums: Integers = running[:, window:] - running[:, :-window]
    return sums


def all_patterns(ticks: int) -> tuple[Array, Array]:
    patterns = np.array(list(product([0, 1], repeat=ticks)))
    return np.repeat(patterns, len(patterns), axis=0), np.tile(patterns, (len(patterns), 1))


@pytest.mark.parametrize("method", RULES)
@pytest.mark.parametrize("window", [1, 2, 3, 5])
def test_no_pattern_of_wishes_and_flags_charges_a_window_more_than_epsilon(
    method: str, window: int
) -> None:
    """Every pattern of 8 ticks; the rules refuse to be charged more, so this also runs them."""
    wishes, flags = all_patterns(8)
    for epsilon in (NAT, 12_345_678_901):
        charged = allocate(method, window=window, epsilon=epsilon, wishes=wishes, flags=flags)
        largest = window_sums(charged, window).max()
        assert largest <= epsilon
        assert largest == RULES[method](window, epsilon).most


@settings(max_examples=60)
@given(
    method=st.sampled_from(sorted(RULES)),
    window=st.integers(1, 12),
    epsilon=st.integers(24, 20 * NAT),
    seed=st.integers(0, 2**32),
    share=st.sampled_from([0.05, 0.3, 0.7, 0.95]),
    cap=st.none() | st.tuples(st.integers(1, NAT), st.integers(1, NAT)),
)
def test_nor_does_a_long_pattern_whatever_the_budget(
    method: str,
    window: int,
    epsilon: int,
    seed: int,
    share: float,
    cap: tuple[int, int] | None,
) -> None:
    rng = np.random.default_rng(seed)
    wishes, flags = rng.random((2, 30, 60)) < share
    capped = None if cap is None else Cap(*cap)
    charged = allocate(
        method, window=window, epsilon=epsilon, wishes=wishes, flags=flags, cap=capped
    )
    assert window_sums(charged, window).max() <= RULES[method](window, epsilon, cap=capped).most
    assert RULES[method](window, epsilon, cap=capped).most <= epsilon
    if cap is not None:
        assert charged.decision.max() <= cap[0]
        assert charged.publication.max() <= cap[1]


SUPREMA = {
    "uniform": Fraction(1),
    "sample": Fraction(1),
    "budget_distribution": Fraction(15, 16),
    "budget_absorption": Fraction(1),
    "pba": Fraction(15, 16),
    "pba_ldp": Fraction(1),
}


@pytest.mark.parametrize("method", RULES)
def test_the_largest_charge_of_three_ticks_is_the_printed_one(method: str) -> None:
    wishes, flags = all_patterns(6)
    charged = allocate(method, window=3, epsilon=EPSILON, wishes=wishes, flags=flags)
    assert window_sums(charged, 3).max() == SUPREMA[method] * EPSILON


@settings(max_examples=40)
@given(
    window=st.integers(1, 40), epsilon=st.integers(NAT // 9, 20 * NAT), seed=st.integers(0, 2**32)
)
def test_pba_costs_what_budget_distribution_does_or_half_of_it(
    window: int, epsilon: int, seed: int
) -> None:
    """Tick by tick, for the same pattern of publications, rounded down."""
    wishes, flags = np.random.default_rng(seed).random((2, 20, 80)) < 0.5
    whole = allocate("budget_distribution", window=window, epsilon=epsilon, wishes=wishes)
    for flag, divisor in ((np.ones_like(flags), 1), (np.zeros_like(flags), 2), (flags, 2 - flags)):
        pba = allocate("pba", window=window, epsilon=epsilon, wishes=wishes, flags=flag)
        assert (pba.publication == whole.publication // divisor).all()


def test_a_cap_lowers_what_pba_remembers_and_not_how_long_absorption_is_silent() -> None:
    cap = Cap(decision=NAT, publication=EPSILON // 16)
    capped = allocate("pba", window=3, epsilon=EPSILON, wishes=bits("11111"), cap=cap)
    assert (capped.publication[0] == EPSILON // 16).all(), "the pool refills as fast as it is used"
    absorbed = {
        limit: allocate(
            "budget_absorption", window=3, epsilon=EPSILON, wishes=bits("0011111"), cap=limit
        )
        for limit in (None, cap)
    }
    assert absorbed[cap].publication.max() == EPSILON // 16
    assert (absorbed[cap].outcome == absorbed[None].outcome).all()
    assert Outcome.IMPOSSIBLE in absorbed[cap].outcome


def test_a_publication_below_the_resolution_is_not_offered() -> None:
    rule: Rule = RULES["budget_distribution"](2, 100, smallest=20)
    state, charged = rule.start(1), []
    for _ in range(3):
        offer = rule.offer(state, np.zeros(1, dtype=bool))
        state = rule.settle(state, offer, offer.publication > 0)
        charged.append(offer.publication.tolist())
    assert charged == [[25], [0], [25]]
    assert state["spent"].tolist() == [25 + 25 + 3 * 25]


def test_a_damaged_ledger_stops_before_a_window_is_overspent() -> None:
    rule = RULES["uniform"](4, NAT)
    state = rule.start(1)
    state["recent"][0] = NAT
    offer = rule.offer(state, np.zeros(1, dtype=bool))
    with pytest.raises(ArithmeticError, match="budget"):
        rule.settle(state, offer, np.ones(1, dtype=bool))
