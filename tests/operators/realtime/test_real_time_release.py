"""The release: noise, ledger, what is published without a value, and what it does not look at."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import nextafter, sqrt
from typing import Any

import numpy as np
import pytest

from fugu.operators.auditing.steps_as_drawn import ChosenPoints
from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.mechanism import Draws, Inputs, Integers, Kind, Releases, State, Words
from fugu.operators.noise import gaussian
from fugu.operators.noise.additive import BudgetBelowResolution
from fugu.operators.noise.gaussian import GaussianNoise
from fugu.operators.randomness import DrawScope, Secret, draws_of, tick_position
from fugu.operators.realtime import measurement
from fugu.operators.realtime.account import units_of_rho
from fugu.operators.realtime.measurement import DECLARED, Measurement
from fugu.operators.realtime.real_time_release import RealTimeRelease
from fugu.operators.wevent.allocation import LARGEST_VALUE
from tests.conformance.streams import Stored
from tests.operators.noise.simulated import SimulatedDraws

RELEASE = RealTimeRelease(2, 1, 2, epsilon=5.0, delta=1e-6, horizon=10)
OVER_ZCDP = "noise variance relative to an account in zero-concentrated DP"
TRUTH = np.cumsum(np.random.default_rng(1).integers(-9, 10, (30, 1, 2)), axis=0) + 200


def run(
    release: RealTimeRelease, truth: Integers, missing: frozenset[int] = frozenset()
) -> list[tuple[State, Releases]]:
    """With keyed draws that do not depend on the law."""
    scope = DrawScope(Secret(bytes(32)), "test", "real", 1, bytes(32))
    state, told = release.start(truth.shape[1]), []
    for tick, values in enumerate(truth):
        draws = scope.draws([b"key"] * len(values), [tick_position("t", tick)] * len(values))
        if tick in missing:
            state, releases = release.skip(state)
        else:
            state, releases = release.step(state, Inputs(values), draws)
        told.append((state, releases))
    return told


def noted(told: list[tuple[State, Releases]], name: str) -> list[object]:
    return [releases.annotations[name][0].item() for _, releases in told]


def test_with_a_weight_of_1_values_have_noise_of_the_deviation_that_is_told() -> None:
    release = RealTimeRelease(3, 1, 1, epsilon=5.0, delta=1e-6, horizon=10, weight=1.0)
    values = np.full((2000, 3), 1234)
    draws = SimulatedDraws(np.random.default_rng(1))
    _, releases = release.step(release.start(2000), Inputs(values), draws)
    noise = (releases.values - 1234).ravel()
    expected = release.noise_deviation
    assert noise.std() == pytest.approx(expected, rel=5 / np.sqrt(2 * noise.size))
    assert abs(noise.mean()) < 5 * expected / np.sqrt(noise.size)
    [error] = set(releases.annotations["standard_error"].ravel().tolist())
    assert error == pytest.approx(expected, rel=1e-15)


def test_ten_values_are_paid_for_and_then_predictions_are_published() -> None:
    told = run(RELEASE, TRUTH)
    assert noted(told, "published") == [True] * 10 + [False] * 20
    assert noted(told, "budget_exhausted") == [False] * 10 + [True] * 20
    assert [kind for _, releases in told for kind in np.asarray(releases.kinds).tolist()] == (
        [Kind.FRESH] * 10 + [Kind.REPEATED] * 20
    )
    spent = [int(state["spent"][0]) for state, _ in told]
    assert spent[9:] == [spent[9]] * 21
    assert 0.999 * RELEASE.budget < spent[9] <= RELEASE.budget
    assert noted(told, "spent_rho") == [number / UNITS_PER_NAT for number in spent]
    assert noted(told, "remaining_rho") == [
        (RELEASE.budget - number) / UNITS_PER_NAT for number in spent
    ]


def test_there_are_no_more_values_than_the_horizon_whatever_rounding_leaves_over() -> None:
    release = RealTimeRelease(1, 1, 1, epsilon=0.05, delta=1e-7, horizon=200)
    charge = int(release.schedule.charges(release.schedule.table[:1])[0])
    assert release.budget >= 201 * charge
    published = sum(map(bool, noted(run(release, np.full((220, 1, 1), 7)), "published")))
    assert published == release.audit()["values that the budget pays for"] == 200


def test_a_tick_without_a_value_costs_nothing_and_publishes_the_prediction() -> None:
    told = run(RELEASE, TRUTH, missing=frozenset({4, 5}))
    assert noted(told, "published") == [tick not in (4, 5) and tick < 12 for tick in range(30)]
    assert noted(told, "budget_exhausted") == [tick >= 12 for tick in range(30)]
    before, after = told[3][0], told[5][0]
    assert after["spent"] == before["spent"]
    assert after["tick"] == before["tick"] + 2
    assert told[4][1].annotations["standard_error"].min() > 0.0
    for name, column in told[4][0].items():
        assert not np.shares_memory(column, told[3][0][name])


def test_the_ledger_survives_a_round_trip_through_bytes() -> None:
    """Otherwise a restart would be a new budget."""
    state = run(RELEASE, TRUTH[:7])[-1][0]
    restored = {name: Stored.of(column).load() for name, column in state.items()}
    scope = DrawScope(Secret(bytes(32)), "test", "real", 1, bytes(32))
    fresh = replace(RELEASE)
    published = []
    for tick in range(7, 30):
        draws = scope.draws([b"key"], [tick_position("t", tick)])
        restored, releases = fresh.step(restored, Inputs(TRUTH[tick]), draws)
        published.append(releases.annotations["published"][0])
    assert sum(published) == 3
    assert restored["spent"] == run(RELEASE, TRUTH)[-1][0]["spent"]


def test_a_new_period_has_a_new_budget_and_no_window_spends_more_than_one() -> None:
    release = RealTimeRelease(2, 1, 2, epsilon=5.0, delta=1e-6, period=7)
    missing = frozenset({2, 3, 11, 20})
    told = run(release, TRUTH, missing)
    assert noted(told, "published") == [tick not in missing for tick in range(30)]
    charge = int(release.schedule.charges(release.schedule.table)[0])
    charges = np.array([charge * (tick not in missing) for tick in range(30)])
    spent = [int(state["spent"][0]) for state, _ in told]
    assert spent == [int(charges[tick - tick % 7 : tick + 1].sum()) for tick in range(30)]
    windows = [charges[start : start + 7].sum() for start in range(24)]
    assert max(windows) <= release.budget


def test_parts_that_get_smaller_end_when_nothing_can_be_measured() -> None:
    release = RealTimeRelease(2, 1, 2, epsilon=5.0, delta=1e-6, decay=0.3, weight=1.0)
    values = np.full((40, 50, 2), 10**6)
    state, draws = release.start(50), SimulatedDraws(np.random.default_rng(2))
    deviations, published = [], []
    for now in values:
        state, releases = release.step(state, Inputs(now), draws)
        deviations.append(releases.values.std())
        published.append(bool(releases.annotations["published"].all()))
    lasts = release.schedule.lasts
    assert lasts is not None
    assert published == [True] * lasts + [False] * (40 - lasts)
    assert 5 < lasts < 30
    assert (state["spent"] <= release.budget).all()
    assert deviations[0] == pytest.approx(release.noise_deviation, rel=0.4)
    growth = np.array(deviations[2:lasts]) / np.array(deviations[1 : lasts - 1])
    assert growth.mean() == pytest.approx(1 / np.sqrt(0.3), rel=0.2)
    assert releases.annotations["budget_exhausted"].all()


def test_what_is_presented_is_not_fed_back() -> None:
    truth = TRUTH - 200
    plain = run(RELEASE, truth)
    integer = replace(RELEASE, presentation="integer"), np.rint
    non_negative = replace(RELEASE, presentation="non_negative"), lambda x: np.maximum(x, 0.0)
    for release, shown in (integer, non_negative):
        other = run(release, truth)
        for (state, releases), (other_state, other_releases) in zip(plain, other, strict=True):
            assert np.array_equal(other_releases.values, shown(releases.values))
            for name, column in state.items():
                assert other_state[name].tobytes() == column.tobytes()
    assert min(releases.values.min() for _, releases in plain) < 0.0


@pytest.mark.parametrize("weight", [None, 0.3])
def test_a_release_depends_on_true_values_only_through_noisy_ones(weight: float | None) -> None:
    """Two truths, and noise that makes them look the same: same releases, same state."""
    release = replace(RELEASE, weight=weight)
    rng, steps = np.random.default_rng(3), release.schedule.first
    state, other = release.start(1), release.start(1)
    for values in TRUTH[:15]:
        noise = rng.integers(-steps, steps + 1, (1, 2))
        moved = rng.integers(-1, 2, (1, 2))
        state, releases = release.step(state, Inputs(values), ChosenPoints(noise))
        chosen = ChosenPoints(noise - moved * steps)
        other, other_releases = release.step(other, Inputs(values + moved), chosen)
        assert other_releases.values.tobytes() == releases.values.tobytes()
        for name, note in releases.annotations.items():
            assert other_releases.annotations[name].tobytes() == note.tobytes()
        for name, column in state.items():
            assert other[name].tobytes() == column.tobytes()


def test_what_cannot_be_paid_for_is_not_even_drawn() -> None:
    """And rows that can be are, at their own precision."""
    release = RealTimeRelease(1, 1, 1, 5.0, 1e-6, decay=0.5)
    state = release.start(3)
    state["count"][:, 0] = [0, 4, 1000]
    draws = ChosenPoints(np.zeros((3, 1), dtype=np.int64))
    after, releases = release.step(state, Inputs(np.array([[5], [6], [7]])), draws)
    assert releases.annotations["published"].tolist() == [True, True, False]
    assert draws.drawn == [2]
    first, fifth = (int(release.schedule.table[index]) for index in (0, 4))
    charges = release.schedule.charges(np.array([first, fifth, 0]))
    assert after["spent"].tolist() == charges.tolist()
    assert after["count"][:, 0].tolist() == [1, 5, 1000]


def test_values_beyond_what_sums_can_take_are_clamped() -> None:
    state = RELEASE.start(1)
    draws = ChosenPoints(np.zeros((1, 2), dtype=np.int64))
    _, releases = RELEASE.step(state, Inputs(np.array([[2**62, -(2**62)]])), draws)
    assert releases.values.tolist() == [[2.0**44, -(2.0**44)]]


def test_the_promise_is_about_all_ticks_or_about_those_of_a_period() -> None:
    [whole] = RELEASE.guarantees()
    assert (whole.notion, whole.per, whole.window) == ("dp", "stream", None)
    assert (whole.epsilon, whole.delta) == (5.0, 1e-6)
    [part] = replace(RELEASE, horizon=None, period=7).guarantees()
    assert (part.notion, part.per, part.window) == ("w-event-dp", "window", 7)
    assert (whole.composition, part.composition) == ("total", "windows")
    assert "unbounded under sequential composition" in str(part.not_covered[0])
    for promise in (whole, part):
        not_covered = [str(point) for point in promise.not_covered]
        for said in ("weights of a filter", "clamped", "several streams"):
            assert any(said in sentence for sentence in not_covered)


def test_an_audit_says_what_other_accounts_would_ask_for() -> None:
    audit = RealTimeRelease(1, 1, 1, 1.0, 1e-5, horizon=100).audit()
    assert audit["noise variance by the bound of the paper, relative"] == pytest.approx(
        1.73, abs=0.005
    )
    assert audit[OVER_ZCDP] == pytest.approx(1.47 / 1.73, abs=0.005)
    assert audit["warning"] is None
    assert "is close to" in str(
        RealTimeRelease(1, 1, 1, 0.1, 1e-7, horizon=1000).audit()["warning"]
    )


@pytest.mark.parametrize(("epsilon", "saved"), [(3.0, 0.118), (0.1, 0.154)])
@pytest.mark.parametrize(
    "shared", [{"horizon": 1}, {"period": 2}, {"decay": 0.5}, {"horizon": 4, "shares": (1.0, 4.0)}]
)
def test_variance_is_below_that_of_zero_concentrated_noise_by_what_is_printed(
    epsilon: float, saved: float, shared: dict[str, Any]
) -> None:
    """The noise of the release itself, but for steps rounded down."""
    release = RealTimeRelease(1, 1, 1, epsilon, 1e-6, **shared)
    first = release.shared(units_of_rho(epsilon, 1e-6)).first
    usual, rounding = Measurement(1).deviation(first), 4.0 / first
    assert 1.0 - (release.noise_deviation / usual) ** 2 == pytest.approx(saved, abs=rounding)
    assert release.audit()[OVER_ZCDP] == pytest.approx(1.0 - saved, abs=0.001)


def test_a_budget_that_pays_for_nothing_is_refused() -> None:
    with pytest.raises(BudgetBelowResolution, match="epsilon, delta: pay for no measurement"):
        RealTimeRelease(1, 1, 1, 0.01, 1e-7, horizon=10**7)


def test_exactly_one_way_to_share_the_budget_is_given() -> None:
    for horizon, period, decay in ((None, None, None), (5, 5, None), (None, 5, 0.5)):
        with pytest.raises(ValueError, match="give exactly one"):
            RealTimeRelease(1, 1, 1, 1.0, 1e-7, horizon, period, decay)


def test_values_that_take_shares_in_turn_are_measured_as_well_as_they_pay() -> None:
    release = replace(RELEASE, shares=(1.0, 4.0), weight=1.0)
    told = run(release, TRUTH)
    assert noted(told, "published") == [True] * 10 + [False] * 20
    errors = [releases.annotations["standard_error"][0, 0] for _, releases in told[:10]]
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=1e-3)
    assert errors == errors[:2] * 5
    assert int(told[-1][0]["spent"][0]) <= release.budget


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"shares": (1.0, 0.0)}, "shares: must be positive"),
        ({"shares": (1.0, np.inf)}, "shares: must be positive"),
        ({"shares": (1.0,) * 11}, "shares: go with a horizon of at least as many"),
        ({"shares": (1.0,), "horizon": None, "period": 5}, "shares: go with a horizon"),
        ({"shares": (1.0,), "horizon": None, "decay": 0.5}, "shares: go with a horizon"),
        ({"shares": (1.0, 1e-30)}, "pay for no measurement"),
    ],
)
def test_shares_that_cannot_be_are_refused(changed: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        replace(RELEASE, **changed)


@pytest.mark.parametrize("weight", [1.0, None])
def test_the_baseline_publishes_noisy_values_and_their_noise_with_decay_too(
    weight: float | None,
) -> None:
    """A weight of 1 fell with the precision, which made a filter of it: a mean over many streams
    erred by more than twice what its bars say, and bars held 51 percent."""
    streams, ticks = 400, 60
    release = RealTimeRelease(1, 1, 1, epsilon=20.0, delta=1e-6, decay=0.9, weight=weight)
    scope = DrawScope(Secret(bytes(32)), "test", "real", 1, bytes(32))
    keys = [b"%d" % row for row in range(streams)]
    state, errors, bars = release.start(streams), [], []
    for tick in range(ticks):
        truth = np.full((streams, 1), 1_000 + 2 * tick)
        draws = scope.draws(keys, [tick_position("t", tick)] * streams)
        deviation = release.schedule.steps(np.array([tick]))
        state, releases = release.step(state, Inputs(truth), draws)
        assert releases.annotations["published"].all()
        assert not releases.annotations["predicted"].any()
        errors.append((releases.values - truth)[:, 0])
        bars.append(releases.annotations["standard_error"][:, 0])
        if weight == 1.0:
            own = Measurement(1).deviation(int(deviation[0]))
            assert bars[-1] == pytest.approx(own)
    held = (np.abs(errors) <= 1.96 * np.array(bars)).mean()
    means, of_means = np.mean(errors, axis=1), np.sqrt(np.mean(np.square(bars), axis=1) / streams)
    off = np.sqrt(np.mean((means / of_means) ** 2))
    assert ((0.94 < held < 0.96) and (0.75 < off < 1.25)) == (weight == 1.0)


def test_what_is_left_falls_with_each_measured_value_and_not_with_predictions() -> None:
    left = [RELEASE.left(state) for state, _ in run(RELEASE, TRUTH[:14], frozenset([2, 3]))]
    counts = [int(rows[0]) for rows in left if rows is not None]
    assert counts == [9, 8, 8, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0]


def test_of_a_budget_that_begins_anew_nothing_is_said_to_be_left() -> None:
    release = replace(RELEASE, horizon=None, period=10)
    assert release.left(release.start(1)) is None


def test_weights_in_turn_are_those_of_single_releases_with_each_weight() -> None:
    """The third value, after two that are estimates themselves, has the third weight."""
    turn = RealTimeRelease(1, 1, 1, 5.0, 1e-6, horizon=9, weights=(1.0, 0.5, 0.2))
    alone = RealTimeRelease(1, 1, 1, 5.0, 1e-6, horizon=9, weight=0.2)
    assert turn.budget == alone.budget
    states = [one.start(1) for one in (turn, alone)]
    for tick in range(3):
        found = []
        for place, release in enumerate((turn, alone)):
            draws = SimulatedDraws(np.random.default_rng(tick))
            states[place], releases = release.step(
                states[place], Inputs(np.array([[100 + 7 * tick]])), draws
            )
            found.append(float(releases.values[0, 0]))
        assert found[0] == found[1]
    with pytest.raises(ValueError, match=r"^weights"):
        RealTimeRelease(1, 1, 1, 5.0, 1e-6, horizon=9, weight=0.5, weights=(0.5,))


def test_a_filter_that_begins_with_a_public_history_errs_less_at_first_at_no_price() -> None:
    rng, rows = np.random.default_rng(3), 400
    series = [0.0]
    for _ in range(120):
        series.append(0.9 * series[-1] + sqrt(1 - 0.81) * float(rng.standard_normal()))
    truth = np.rint(200.0 + 8.0 * np.array(series)).astype(np.int64)[:, None].repeat(rows, axis=1)
    past = (tuple(map(float, truth[:100, 0])),)
    cold = RealTimeRelease(1, 1, 1, 3.0, 1e-6, horizon=20)
    warm = RealTimeRelease(1, 1, 1, 3.0, 1e-6, horizon=20, history=past)
    assert warm.budget == cold.budget
    [promised], [same] = warm.guarantees(), cold.guarantees()
    assert promised == replace(same, not_covered=promised.not_covered)
    assert {*promised.not_covered} - {*same.not_covered} == {DECLARED}
    assert warm.law_digest() != cold.law_digest()
    errors = []
    for release in (cold, warm):
        state, draws = release.start(rows), SimulatedDraws(np.random.default_rng(4))
        left = release.left(state)
        assert left is not None
        assert (left == 20).all()
        squared = 0.0
        for now in truth[100:106]:
            state, releases = release.step(state, Inputs(now[:, None]), draws)
            squared += float(((releases.values[:, 0] - now) ** 2).mean())
        errors.append(squared)
    assert errors[1] < 0.7 * errors[0]


# Measuring rows of different precision: the noise is that of each row alone, and so is the work
# that of rows, not of precisions.


def draws(rows: int) -> Draws:
    scope = DrawScope(Secret(bytes(range(32))), "test", "real", 1, bytes(32))
    return scope.draws([b"%d" % row for row in range(rows)], [tick_position("t", 7)] * rows)


@pytest.mark.parametrize("bins", [1, 3])
@pytest.mark.parametrize("sensitivity", [1, 140, 2**44])
def test_noise_is_that_of_gaussian_noise_row_by_row(sensitivity: int, bins: int) -> None:
    rng, rows = np.random.default_rng(1), 40
    values = rng.integers(-(2**40), 2**40, (rows, bins))
    steps = np.where(np.arange(rows) % 5 == 0, 0, rng.integers(1, 100_000, rows))
    steps[1:4] = 1, 2, 16_384
    found = Measurement(sensitivity).noisy(values, steps, draws(rows))
    for row in range(rows):
        expected = np.zeros((1, bins))
        if steps[row]:
            exact = measurement._deviation(sensitivity, int(steps[row]))
            deviation = float(exact)
            if deviation > exact:
                deviation = nextafter(deviation, 0.0)
            noise = GaussianNoise(sensitivity, deviation, -LARGEST_VALUE, LARGEST_VALUE)
            its = draws_of(draws(rows), np.array([row]), rows)
            expected = noise.grid.value(noise.add(values[row : row + 1], its))
        assert found[row].tobytes() == expected[0].tobytes()


@dataclass
class Counted:
    """Counts how often words are asked for, and for how many rows."""

    draws: Draws
    asked: list[int] = field(default_factory=list)

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        self.asked.append(len(binding))
        return self.draws.words(purpose, binding, coordinates=coordinates, count=count)


@pytest.mark.parametrize("ages", [1, 40, 1_000])
def test_a_tick_takes_as_many_steps_whatever_the_ages_of_streams(
    ages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With decay, each age has a precision of its own: once, a draw and a grid were made for each
    of them, which took 2.2 seconds a tick for 5,000 streams."""
    rows, made = 1_000, []
    release = RealTimeRelease(1, 1, 1, epsilon=20.0, delta=1e-6, decay=0.99)
    state = release.start(rows)
    state["count"][:, 0] = np.arange(rows) % ages
    distinct = len(np.unique(release.schedule.steps(state["count"][:, 0])))
    assert distinct > 0.3 * ages
    made_before = gaussian.GaussianNoise.__post_init__

    def counting(noise: GaussianNoise) -> None:
        made.append(noise)
        made_before(noise)

    monkeypatch.setattr(gaussian.GaussianNoise, "__post_init__", counting)
    counted = Counted(draws(rows))
    _, releases = release.step(state, Inputs(np.full((rows, 1), 500)), counted)
    assert releases.annotations["published"].all()
    assert counted.asked == [rows]
    assert made == []
