"""Frequency oracles: their exact law, the loss of it, and what reports estimate."""

from math import exp, log

import numpy as np
import pytest
from scipy import stats

from fugu.operators.budget_units import UNITS_PER_NAT, units_of
from fugu.operators.ldp_ids.oracles import (
    LARGEST_ALPHABET,
    ORACLES,
    SMALLEST_REPORT,
    OracleName,
    oracle,
)
from fugu.operators.randomness import DrawScope, Secret, record_positions
from tests.operators.ldp_ids.moving_users import Added
from tests.operators.noise.simulated import SMALLEST_P_VALUE, SimulatedDraws, p_value

USERS, RUNS = 400, 3_000


def printed_variance(name: OracleName, symbols: int, nats: float) -> float:
    """Return V(e, n) / n as section 4 of the specification prints it."""
    e = exp(nats)
    if name == "sue":
        return exp(nats / 2) / (exp(nats / 2) - 1) ** 2
    if name == "grr":
        return (symbols - 2 + e) / (e - 1) ** 2 + (symbols - 2) / (symbols * (e - 1))
    return 4 * e / (e - 1) ** 2 + 1 / symbols


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("symbols", [2, 3, 50])
@pytest.mark.parametrize("nats", [0.0125, 0.5, 1.0, 8.0])
def test_the_variance_is_the_printed_one(name: OracleName, symbols: int, nats: float) -> None:
    law = oracle(name, symbols, units_of(nats))
    assert law.spread == pytest.approx(printed_variance(name, symbols, nats), rel=1e-9)


@pytest.mark.parametrize(
    ("nats", "variance"), [(0.0125, 25599.92), (0.025, 6399.92), (0.1, 399.917), (1.0, 3.917698)]
)
def test_sue_has_the_printed_digits(nats: float, variance: float) -> None:
    assert oracle("sue", 7, units_of(nats)).spread == pytest.approx(variance, rel=2e-6)


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("symbols", [2, 3, 4])
@pytest.mark.parametrize("nats", [0.01, 1.0, 20.0])
def test_no_report_tells_symbols_further_apart_than_epsilon(
    name: OracleName, symbols: int, nats: float
) -> None:
    """And the bound is reached, which is what the charge says of the integers that are drawn."""
    law = oracle(name, symbols, units_of(nats))
    chances = law.outcomes()
    assert chances.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    loss = float(np.log(chances.max(axis=0) / chances.min(axis=0)).max())
    assert law.charge <= units_of(nats)
    assert 0.99 * nats <= loss <= nats * (1 + 1e-6)
    assert loss == pytest.approx(law.charge / UNITS_PER_NAT, rel=1e-6)


@pytest.mark.parametrize("name", ORACLES)
def test_the_smallest_report_of_the_largest_alphabet_has_a_law(name: OracleName) -> None:
    law = oracle(name, LARGEST_ALPHABET, SMALLEST_REPORT)
    assert law.p > law.q
    assert 0 <= law.charge <= SMALLEST_REPORT


@pytest.mark.parametrize("name", ORACLES)
def test_reports_are_drawn_from_the_law(name: OracleName) -> None:
    """Every user alone: the set or symbol reported comes as often as its law says."""
    law, rows = oracle(name, 3, units_of(2.0)), 20_000
    scope = DrawScope(Secret(bytes(range(32))), "tests", "reports", 1, bytes(32))
    draws = scope.draws([b"key"] * rows, record_positions("topic", 0, range(rows)))
    words = draws.words("publication", [b"one"] * rows, count=law.words)[:, 0]
    each = np.stack([law.supports(np.array([1]), one[None]) for one in words])
    outcomes = each.argmax(axis=1) if name == "grr" else each @ np.array([1, 2, 4])
    assert p_value(outcomes, law.outcomes()[1]) > SMALLEST_P_VALUE


@pytest.mark.parametrize("name", ORACLES)
def test_estimates_are_unbiased_and_vary_as_said(name: OracleName) -> None:
    """Within what so many runs allow: five standard errors of the mean, and of the variance."""
    symbols = np.repeat([0, 1, 2, 3], [200, 120, 80, 0])
    law, draws = oracle(name, 4, units_of(1.0)), SimulatedDraws(np.random.default_rng(5))
    supports = np.stack([law.report(symbols, draws, "publication") for _ in range(RUNS)])
    counts = (supports - USERS * law.q) / (law.p - law.q)
    variance = counts.var(axis=0, ddof=1)
    assert np.abs(counts.mean(axis=0) - [200, 120, 80, 0]).max() < 5 * np.sqrt(
        variance.max() / RUNS
    )
    assert variance.mean() == pytest.approx(USERS * law.spread, rel=5 * np.sqrt(2 / RUNS / 4) * 2)


def test_parts_of_many_users_draw_what_all_draw_together(monkeypatch: pytest.MonkeyPatch) -> None:
    scope = DrawScope(Secret(bytes(32)), "tests", "reports", 1, bytes(32))
    draws = scope.draws([b"%d" % n for n in range(50)], [b"tick"] * 50)
    law, symbols = oracle("sue", 3, units_of(1.0)), np.arange(50) % 3
    whole = law.report(symbols, draws, "decision")
    monkeypatch.setattr("fugu.operators.ldp_ids.oracles._WORDS_AT_ONCE", 21)
    assert law.report(symbols, draws, "decision").tolist() == whole.tolist()


def test_other_budgets_symbols_and_phases_draw_other_words() -> None:
    scope = DrawScope(Secret(bytes(32)), "tests", "reports", 1, bytes(32))
    draws = scope.draws([b"user"] * 400, [b"%d" % n for n in range(400)])
    symbols, nearly = np.zeros(400, dtype=np.int64), units_of(1.0)
    laws = [oracle("sue", 2, nearly), oracle("sue", 2, nearly + 1)]
    first, second = (law.report(symbols, draws, "decision").tolist() for law in laws)
    assert first != second
    assert laws[0].report(symbols, draws, "publication").tolist() != first
    assert laws[0].report(symbols, draws, "decision").tolist() == first


def test_the_loss_of_unary_reports_is_that_of_two_bits() -> None:
    law = oracle("sue", 5, units_of(1.0))
    assert 2 * log((1 - law.q) / law.q) == pytest.approx(1.0, rel=1e-12)


def test_sums_that_are_drawn_at_once_have_the_law_of_reports() -> None:
    """Draw what the long table of errors is made of, beside the sum of real reports."""
    symbols = np.repeat([0, 1, 2], [200, 150, 50])
    draws = SimulatedDraws(np.random.default_rng(8))
    real, added = (
        np.stack([law.report(symbols, draws, "publication") for _ in range(1_500)])
        for law in (oracle("sue", 3, units_of(1.0)), Added(3, units_of(1.0)))
    )
    for symbol in range(3):
        assert stats.ks_2samp(real[:, symbol], added[:, symbol]).pvalue > SMALLEST_P_VALUE
    covariance = np.corrcoef(added.T)
    assert np.abs(covariance - np.eye(3)).max() < 5 / np.sqrt(1_500)
    assert np.abs(np.corrcoef(real.T) - np.eye(3)).max() < 5 / np.sqrt(1_500)
