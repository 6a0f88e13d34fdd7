"""Leakage while a stream runs: the recursion, never below it, the same bytes in any company."""

import numpy as np
import pytest

from fugu.operators.budget_units import LARGEST_CHARGE, in_nats, units_of
from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.leakage.online import OnlineLeakage
from fugu.operators.mechanism import Floats
from tests.operators.leakage.brute_force import over_all_subsets
from tests.operators.leakage.chains import IDENTITY, UNIFORM, B, with_zeros


def units(*nats: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([units_of(some) for some in nats])


def advanced(online: OnlineLeakage, spends: list[list[float]]) -> list[Floats]:
    """The state after every tick; `spends[t]` has a figure for each row."""
    states = [online.start(len(spends[0]))]
    for spent in spends:
        states.append(online.advance(states[-1], units(*spent)))
    return states[1:]


def test_it_follows_the_recursion_from_above() -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        rows = with_zeros(rng, int(rng.integers(2, 5)))
        online = OnlineLeakage(TemporalCorrelation.of(rows, rows))
        spends = rng.choice([0.0, 0.1, 0.75], size=12).tolist()
        exact = 0.0
        for spent, state in zip(spends, advanced(online, [[s] for s in spends]), strict=True):
            exact = over_all_subsets(rows, exact) + spent
            leaked = int(online.leaked(state)[0])
            assert exact <= in_nats(leaked) + 1e-15
            assert in_nats(leaked) <= exact + 2e-11


def test_for_any_start_it_is_between_the_recursion_and_its_limit() -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        rows = with_zeros(rng, int(rng.integers(2, 5)))
        correlation = TemporalCorrelation.of(rows)
        online = OnlineLeakage(correlation, most=units_of(0.75))
        spends = rng.choice([0.0, 0.1, 0.75], size=60).tolist()
        followed = correlation.over(spends).backward
        states = advanced(online, [[spent] for spent in spends])
        for least, state in zip(followed, states, strict=True):
            leaked = in_nats(int(online.leaked(state)[0]))
            assert least - 1e-11 <= leaked <= correlation.backward.supremum(0.75) + 1e-11


def test_a_row_has_the_same_bytes_alone_and_in_company() -> None:
    rng = np.random.default_rng(9)
    online = OnlineLeakage(TemporalCorrelation.of(with_zeros(rng, 6)))
    spends = rng.choice([0.0, 0.1, 0.2, 1.3], size=(20, 50)).tolist()
    together = advanced(online, spends)
    for row in (0, 17, 49):
        alone = advanced(online, [[spent[row]] for spent in spends])
        assert [state[0] for state in alone] == [state[row] for state in together]


def test_a_step_leaves_the_state_it_was_given() -> None:
    online = OnlineLeakage(TemporalCorrelation.of(B))
    state = online.start(2)
    online.advance(state, units(1.0, 2.0))
    assert state.tolist() == [1.0, 1.0]


def test_far_beyond_any_use_it_says_that_there_is_no_bound() -> None:
    online = OnlineLeakage(TemporalCorrelation.of(IDENTITY))
    states = advanced(online, [[100.0]] * 8)
    assert in_nats(int(online.leaked(states[5])[0])) == pytest.approx(600.0)
    assert online.leaked(states[6]).tolist() == [LARGEST_CHARGE]
    assert online.leaked(states[7]).tolist() == [LARGEST_CHARGE]


def test_independent_values_leak_what_their_tick_spends() -> None:
    online = OnlineLeakage(TemporalCorrelation.of(UNIFORM))
    (_, last) = advanced(online, [[1.0], [0.25]])
    assert in_nats(int(online.leaked(last)[0])) == pytest.approx(0.25, abs=1e-11)
