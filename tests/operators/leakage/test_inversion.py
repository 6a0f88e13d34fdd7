"""Budgets that keep leakage below a limit: the table of the specification, and that they do."""

import re
from dataclasses import asdict
from fractions import Fraction
from math import inf
from pathlib import Path

import numpy as np
import pytest

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.leakage.inversion import (
    UnboundedLeakage,
    epsilons_for,
    in_words,
    largest_epsilon,
    rounded_up,
)
from fugu.operators.wevent.allocation import Cap
from tests.conformance.kinds import KINDS
from tests.operators.leakage.chains import IDENTITY, UNIFORM, A, B, C, D, with_zeros

ROUNDED_UP = 1e-11
"""The excess that the recursion may have, which rounds up at every tick."""
TABLE = [
    (A, 0.08762290, 0.54381145, 0.05198394),
    (B, 0.54059239, 0.77029620, 0.09205010),
    (C, 0.29972345, 0.64986173, 0.08264997),
    (D, 0.11573435, 0.55786718, 0.05583778),
]


@pytest.mark.parametrize(("rows", "about_one", "ends", "about_ten"), TABLE)
def test_the_table_of_the_specification(
    rows: list[list[float]], about_one: float, ends: float, about_ten: float
) -> None:
    correlation = TemporalCorrelation.of(rows, rows)
    assert largest_epsilon(correlation, 1.0) == pytest.approx(about_one, abs=6e-9)
    assert largest_epsilon(correlation, 1.0, window=10) == pytest.approx(about_ten, abs=6e-9)
    for ticks in (2, 3, 50):
        epsilons = epsilons_for(correlation, 1.0, ticks)
        assert len(epsilons) == ticks
        assert [epsilons[0], epsilons[-1]] == pytest.approx([ends, ends], abs=6e-9)
        assert epsilons[1:-1] == pytest.approx([about_one] * (ticks - 2), abs=6e-9)
        total = correlation.over(epsilons).total
        assert total == pytest.approx([1.0] * ticks, abs=1e-12), "nothing is given away"


def test_one_tick_may_spend_it_all() -> None:
    assert epsilons_for(TemporalCorrelation.of(D), 0.7, ticks=1) == (0.7,)


def test_what_is_found_keeps_the_limit_and_a_little_more_breaks_it() -> None:
    rng = np.random.default_rng(7)
    for _ in range(15):
        correlation = TemporalCorrelation.of(
            0.9 * with_zeros(rng, 3) + 0.1 / 3, 0.8 * with_zeros(rng, 3) + 0.2 / 3
        )
        alpha, window = float(rng.choice([0.05, 1.0, 4.0])), int(rng.integers(1, 6))
        epsilon = largest_epsilon(correlation, alpha, window)
        assert correlation.limit(epsilon, window) <= alpha
        assert correlation.limit(epsilon * (1.0 + 1e-9), window) > alpha
        assert max(correlation.windows([epsilon] * 300, window)) <= alpha + ROUNDED_UP
        within = correlation.over(epsilons_for(correlation, alpha, 40)).total
        assert max(within) <= alpha + ROUNDED_UP


def test_without_correlation_every_tick_may_spend_alpha() -> None:
    correlation = TemporalCorrelation.of(UNIFORM)
    assert largest_epsilon(correlation, 0.3) == pytest.approx(0.3, rel=1e-12)
    assert largest_epsilon(correlation, 0.3, window=6) == pytest.approx(0.05, rel=1e-12)


@pytest.mark.parametrize("rows", [IDENTITY, [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]])
def test_where_nothing_suffices_only_an_end_of_the_stream_helps(rows: list[list[float]]) -> None:
    correlation = TemporalCorrelation.of(rows, rows)
    with pytest.raises(UnboundedLeakage, match="End the stream after T ticks"):
        largest_epsilon(correlation, 1.0)
    epsilons = epsilons_for(correlation, 1.0, ticks=40)
    assert epsilons == pytest.approx([1.0 / 40] * 40)
    assert max(correlation.over(epsilons).total) <= 1.0 + ROUNDED_UP


def test_one_unbounded_direction_is_enough() -> None:
    with pytest.raises(UnboundedLeakage):
        largest_epsilon(TemporalCorrelation.of(B, IDENTITY), 1.0)


@pytest.mark.parametrize("alpha", [0.0, -1.0, float("nan"), float("inf")])
def test_a_limit_that_is_none_is_refused(alpha: float) -> None:
    for refused in (
        lambda: largest_epsilon(TemporalCorrelation.of(B), alpha),
        lambda: epsilons_for(TemporalCorrelation.of(B), alpha, 3),
    ):
        with pytest.raises(ValueError, match="alpha: must be a number of nats above 0"):
            refused()


def test_a_stream_has_at_least_one_tick() -> None:
    with pytest.raises(ValueError, match="ticks: must be at least 1, not 0"):
        epsilons_for(TemporalCorrelation.of(B), 1.0, ticks=0)


@pytest.mark.parametrize("sensitivity", [1, 2])
@pytest.mark.parametrize("decision", [0, 1, 2**30, 2**35, 2**50])
def test_capped_ticks_leak_at_most_what_was_asked(sensitivity: int, decision: int) -> None:
    """Under a change of a value, a mechanism for adding and removing spends twice its budget."""
    epsilon = 0.08762290123456789
    caps = Cap.within(epsilon, decision, sensitivity)
    spent = Fraction(caps.decision + caps.publication, UNITS_PER_NAT) * 2 / sensitivity
    assert 0 <= Fraction(epsilon) - spent < Fraction(4, UNITS_PER_NAT)
    assert caps.decision <= decision
    assert caps.decision <= caps.publication, "a decision takes at most half"
    assert caps.decision == min(decision, int(epsilon * sensitivity / 4 * UNITS_PER_NAT))


def test_caps_know_two_sensitivities() -> None:
    with pytest.raises(ValueError, match="sensitivity: must be 1 or 2, not 3"):
        Cap.within(0.1, 1, sensitivity=3)


# No text claims more about correlated values than is true.


ROOT = Path(__file__).parents[3]
TEXTS = [
    path
    for pattern in ("*.md", "docs/**/*.md", "deploy/**/*", "operators/**/*.py", "dataflows/**/*.py")
    for path in sorted(ROOT.glob(pattern))
    if path.suffix in (".md", ".py", ".yaml", ".json")
]
CLAIM = re.compile(
    r"(ε|eps|epsilon|\bdifferential(ly)?\b)\W{0,5}(dp\b|priva)[^.;:]{0,40}"
    r"\b(under|despite|with|for)\b[^.;:]{0,30}correlat",
    re.IGNORECASE,
)


@pytest.mark.parametrize(
    "claim",
    [
        "ε-DP under temporal correlation",
        "epsilon-DP under correlation",
        "epsilon-differential privacy for correlated streams",
        "ε-differentially private despite temporal\ncorrelations",
    ],
)
def test_what_is_forbidden_is_recognised(claim: str) -> None:
    assert CLAIM.search(claim)


def test_no_page_and_no_source_promises_differential_privacy_under_correlation() -> None:
    assert len(TEXTS) > 100
    found = {str(path.relative_to(ROOT)) for path in TEXTS if CLAIM.search(path.read_text())}
    assert found == set()


def test_no_guarantee_promises_differential_privacy_under_correlation() -> None:
    for kind in KINDS.values():
        for example in kind.examples():
            for guarantee in example.mechanism.guarantees():
                assert not CLAIM.search(str(asdict(guarantee)))


def test_a_window_has_the_required_words() -> None:
    said = in_words(10, 1.0, about_one=1.776388, about_window=inf, neighbours="add/remove")
    assert said == (
        "Within any 10 consecutive ticks the releases are 1-differentially private for one user's "
        "data (w-event; add/remove), for an attacker with no knowledge of how that person's ticks "
        "depend on each other. For an attacker who knows the transition matrix P the leakage about "
        "one tick is at most TPL=1.7764, and about 10 ticks it has no upper bound (TPL_w=∞); "
        "these may exceed ε and, for some P, have no upper bound. Setting the correlation flag "
        "improves accuracy, not privacy."
    )
    assert not CLAIM.search(said)


def test_a_window_of_one_tick_has_one_figure() -> None:
    said = in_words(1, 0.5, about_one=0.7, about_window=0.7)
    assert said.startswith("Within any one tick the releases are 0.5-differentially private")
    assert "TPL_w" not in said


@pytest.mark.parametrize(
    ("nats", "shown"),
    [(inf, "∞"), (0.0, "0.0000"), (0.1, "0.1000"), (0.10001, "0.1001"), (2.7499999, "2.7500")],
)
def test_figures_are_rounded_up(nats: float, shown: str) -> None:
    assert rounded_up(nats) == shown
