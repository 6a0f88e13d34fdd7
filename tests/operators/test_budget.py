"""A budget over a stream's life: never exceeded, decided from public data, free when exhausted."""

from math import inf, nan

import numpy as np
import pytest

from fugu.operators.budget import Budgeted, WhenExhausted
from fugu.operators.budget_units import UNITS_PER_NAT, units_of
from fugu.operators.mechanism import Array, Inputs, Integers, Kind
from fugu.operators.randomness import DrawScope, Secret, record_positions
from fugu.operators.responses.optimized_unary_encoding import OptimizedUnaryEncoding
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.markov_model import MarkovModel
from tests.conformance.example import Unusable

MODEL = MarkovModel.smoothed(
    [0.5, 0.3, 0.2], [[0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [0.2, 0.4, 0.4]], smoothing=0.01
)
CRR = ConditionalRandomizedResponse(MODEL, epsilon=1.0)
STEPS, ROWS = 40, 30
BILLIONTH_MORE = 1 + 2e-9


UNUSABLE: Unusable = {
    Budgeted: {"total": (0.0, -1.0, nan, inf, 1e30), "window": (0, -1)},
}


def run(
    budgeted: Budgeted, *, truth: Array | None = None
) -> tuple[Integers, Integers, Integers, Array]:
    """Values, kinds and charges, `(steps, rows)`, and the final state's `spent`."""
    truth = np.random.default_rng(5).integers(0, 3, (STEPS, ROWS)) if truth is None else truth
    scope = DrawScope(Secret(bytes(range(32))), "p", "crr", 1, bytes(32))
    keys = [b"user-%d" % row for row in range(ROWS)]
    state = budgeted.start(ROWS)
    values, kinds, charges = [], [], []
    for step in range(STEPS):
        offsets = [step * ROWS + row for row in range(ROWS)]
        before = state["spent"]
        draws = scope.draws(keys, record_positions("t", 0, offsets))
        state, releases = budgeted.step(state, Inputs(truth[step]), draws)
        assert releases.kinds is not None
        values.append(releases.values)
        kinds.append(releases.kinds)
        charges.append(state["spent"] - before)
    return np.array(values), np.array(kinds), np.array(charges), state["spent"]


def test_what_a_stream_spends_never_exceeds_its_total() -> None:
    _, kinds, charges, spent = run(Budgeted(CRR, total=7.3))
    assert spent.max() <= BILLIONTH_MORE * units_of(7.3)
    assert spent.max() + CRR.largest_charge > units_of(7.3)
    assert (charges[kinds == Kind.REPEATED] == 0).all()
    assert (kinds == Kind.REPEATED).any()


@pytest.mark.parametrize("window", [1, 2, 7])
def test_no_window_spends_more_than_the_total(window: int) -> None:
    _, kinds, charges, spent = run(Budgeted(CRR, total=2.5, window=window))
    spent_by = np.cumsum(np.vstack([np.zeros((1, ROWS), dtype=np.int64), charges]), axis=0)
    dearest = (spent_by[window:] - spent_by[:-window]).max()
    assert dearest <= BILLIONTH_MORE * 2.5 * UNITS_PER_NAT
    assert spent.min() > units_of(2.5)
    assert (kinds == Kind.FRESH).any(axis=0).all()


def test_before_it_is_exhausted_a_budget_changes_nothing() -> None:
    free, _, _, _ = run(Budgeted(CRR, total=1000.0))
    tight, kinds, _, _ = run(Budgeted(CRR, total=7.3))
    first = np.argmax(kinds == Kind.REPEATED, axis=0).min()
    assert first >= 7
    assert (free[:first] == tight[:first]).all()


def test_a_total_pays_for_as_many_releases_as_it_is_worth() -> None:
    """Charges are rounded up, and 8 of them still fit into a total of 8 epsilon."""
    uncertain = MarkovModel.smoothed([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], smoothing=0.0)
    crr = ConditionalRandomizedResponse(uncertain, epsilon=0.3)
    truth = np.random.default_rng(5).integers(0, 2, (STEPS, ROWS))
    _, kinds, charges, _ = run(Budgeted(crr, total=0.3 * 8), truth=truth)
    assert (np.argmax(kinds == Kind.REPEATED, axis=0) == 8).all()
    assert (charges[:8] == units_of(0.3)).all()
    assert 8 * units_of(0.3) > 0.3 * 8 * UNITS_PER_NAT


def test_a_stream_that_could_not_pay_once_is_exhausted_for_good() -> None:
    """Its belief is gone, and nothing is said about the present."""
    budgeted = Budgeted(CRR, total=7.3)
    _, kinds, _, _ = run(budgeted)
    first = np.argmax(kinds == Kind.REPEATED, axis=0)
    for row in range(ROWS):
        assert (kinds[first[row] :, row] == Kind.REPEATED).all()
    state = budgeted.start(1) | {"spent": np.array([units_of(7.0)])}
    draws = DrawScope(Secret(bytes(32)), "p", "crr", 1, bytes(32)).draws([b"a"], [b"0"])
    state, releases = budgeted.step(state, Inputs(np.array([1])), draws)
    assert budgeted.exhausted(state).tolist() == [True]
    assert np.isnan(releases.annotations["confidence"]).all()
    fresh = budgeted.start(1)
    for name in fresh.keys() - set(budgeted.lasting):
        assert state[name].tobytes() == fresh[name].tobytes()


def test_with_a_window_no_stream_is_exhausted_for_good() -> None:
    budgeted = Budgeted(CRR, total=1.0, window=3)
    _, kinds, _, _ = run(budgeted)
    assert (kinds[-3:] == Kind.FRESH).any(axis=0).all()
    assert budgeted.lasting == ()


def test_a_repeated_release_is_the_last_fresh_one() -> None:
    values, kinds, _, _ = run(Budgeted(CRR, total=7.3))
    for row in range(ROWS):
        for step in np.flatnonzero(kinds[:, row] == Kind.REPEATED):
            assert values[step, row] == values[step - 1, row]


def test_a_constant_is_the_most_likely_first_symbol() -> None:
    values, kinds, _, _ = run(Budgeted(CRR, total=2.0, when_exhausted="constant"))
    assert set(values[kinds == Kind.REPEATED].tolist()) == {0}


@pytest.mark.parametrize(
    ("when_exhausted", "kind"), [("suppress", Kind.SUPPRESSED), ("stop", Kind.STOPPED)]
)
def test_suppressing_and_stopping_are_said(when_exhausted: WhenExhausted, kind: Kind) -> None:
    _, kinds, _, _ = run(Budgeted(CRR, total=2.0, when_exhausted=when_exhausted))
    assert set(kinds.ravel().tolist()) == {Kind.FRESH, kind}


def test_after_exhaustion_the_output_does_not_depend_on_the_input() -> None:
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 3, (STEPS, ROWS))
    values, kinds, _, _ = run(Budgeted(CRR, total=7.3), truth=truth)
    last = np.flatnonzero((kinds == Kind.FRESH).any(axis=1)).max() + 1
    other = truth.copy()
    other[last:] = rng.integers(0, 3, (STEPS - last, ROWS))
    assert last < STEPS
    assert (run(Budgeted(CRR, total=7.3), truth=other)[0] == values).all()


def test_whether_a_release_is_paid_for_is_a_function_of_earlier_releases() -> None:
    """Two streams with equal releases so far get the same decision, whatever their truth."""
    values, kinds, _, _ = run(Budgeted(CRR, total=4.0))
    decisions: dict[bytes, set[int]] = {}
    for step in range(STEPS):
        for row in range(ROWS):
            history = values[:step, row].tobytes()
            decisions.setdefault(history, set()).add(int(kinds[step, row]))
    assert all(len(found) == 1 for found in decisions.values())
    assert len(decisions) < STEPS * ROWS


@pytest.mark.parametrize("window", [None, 4])
@pytest.mark.parametrize("when_exhausted", ["repeat", "constant"])
def test_a_release_of_many_bits_is_repeated_whole(
    when_exhausted: WhenExhausted, window: int | None
) -> None:
    oue = OptimizedUnaryEncoding(3, epsilon=1.0)
    budgeted = Budgeted(oue, total=2.0, window=window, when_exhausted=when_exhausted)
    values, kinds, charges, _ = run(budgeted)
    repeated = kinds == Kind.REPEATED
    paid = [step % 4 < 2 if window else step < 2 for step in range(STEPS)]
    assert (repeated == ~np.array(paid)[:, None]).all()
    assert values.shape == (STEPS, ROWS, 3)
    assert values[~repeated].any()
    assert (charges[repeated] == 0).all()
    for step in np.flatnonzero(~np.array(paid)):
        instead = values[step - 1] if when_exhausted == "repeat" else oue.constant
        assert (values[step] == instead).all()


def test_guarantees_become_totals() -> None:
    sip, ldp = Budgeted(CRR, total=7.0).guarantees()
    assert 7.0 < sip.epsilon <= 7.0 * BILLIONTH_MORE
    assert ldp.epsilon == 2.0 * sip.epsilon
    assert sip.per == ldp.per == "stream"


def test_a_window_is_accounting_and_promises_no_more_per_release() -> None:
    sip, ldp = Budgeted(CRR, total=7.0, window=5).guarantees()
    assert sip.epsilon == CRR.guarantees()[0].epsilon
    assert sip.composition == "releases"
    assert "5 consecutive records of a stream spend at most 7 nats" in str(sip.accounting[-1])
    assert "spend at most 14 nats" in str(ldp.accounting[-1])


def test_the_law_digest_changes_with_the_budget() -> None:
    laws = [
        Budgeted(CRR, total=7.0),
        Budgeted(CRR, total=8.0),
        Budgeted(CRR, total=7.0, window=3),
        Budgeted(CRR, total=7.0, when_exhausted="suppress"),
    ]
    assert len({law.law_digest() for law in laws} | {CRR.law_digest()}) == 5


@pytest.mark.parametrize("total", [0.0, -1.0, float("nan"), float("inf"), 1e30])
def test_an_unusable_total_is_refused(total: float) -> None:
    with pytest.raises(ValueError, match="total"):
        Budgeted(CRR, total=total)


def test_an_unusable_window_is_refused() -> None:
    with pytest.raises(ValueError, match="window"):
        Budgeted(CRR, total=1.0, window=0)


def test_a_budget_is_twice_as_much_without_a_model_however_little_a_release_has() -> None:
    """A bit is charged below what it tells without a model: 10 nats pay for six bits of 2."""
    model = MarkovModel.smoothed([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], smoothing=0.0)
    sip, ldp = Budgeted(AdaptiveRelease(model, 2.0, 1e-9), total=10.0).guarantees()
    assert ldp.epsilon == 2.0 * sip.epsilon
