"""Shaped noise: what neighbours differ by, what it gains, and what begins anew with a period."""

from itertools import combinations, product
from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from fugu.operators.mechanism import Floats, Inputs
from fugu.operators.personal_cap import PersonalCap
from fugu.operators.realtime.real_time_release import DeclaredModel, RealTimeRelease
from fugu.operators.realtime.shaped_release import ShapedRelease, errors_of_a_period, suited
from fugu.operators.totals.buffers import UNIT, participation
from fugu.operators.totals.precision import Changes
from tests.conformance.example import EPSILONS, Example, Examples, Unusable
from tests.operators.noise.simulated import SimulatedDraws
from tests.operators.wevent.examples import COUNTS

MODEL = DeclaredModel((50.0, 7.0, 100.0), (60.0, 2.0, 90.0), 0.9)


def examples(kind: type[ShapedRelease]) -> tuple[Example, ...]:
    return (
        Example(kind(3, 1, 1.0, 1e-6, PersonalCap(1, 6), MODEL, tick_milliseconds=1000), COUNTS),
        Example(
            kind(
                3,
                2,
                0.3,
                1e-6,
                PersonalCap(2, 500, "rising"),
                MODEL,
                "integer",
                tick_milliseconds=1000,
            ),
            COUNTS,
        ),
        Example(
            kind(
                1,
                5,
                3.0,
                1e-7,
                PersonalCap(3, 3, signed=True),
                DeclaredModel((0.0,), (9.0,), 0.0),
                "non_negative",
                tick_milliseconds=1000,
            ),
            COUNTS[:, :1],
        ),
    )


EXAMPLES: Examples = {ShapedRelease: examples}
UNUSABLE: Unusable = {
    ShapedRelease: {
        "bins": (0, -1, 2**17 + 1),
        "sensitivity": (0, -1, 2**44 + 1),
        "epsilon": (*EPSILONS, 20.1),
        "delta": (0.0, 1.0, -0.1),
        "tick_milliseconds": (0, -1),
    }
}


def shaped(ticks: int, counted: int, correlation: float, epsilon: float = 3.0) -> ShapedRelease:
    model = DeclaredModel((20.0,), (5.0,), correlation)
    return ShapedRelease(
        1, 1, epsilon, 1e-6, PersonalCap(counted, ticks), model, tick_milliseconds=1000
    )


@pytest.mark.parametrize(("ticks", "counted"), [(6, 1), (7, 2), (6, 3)])
def test_indices_of_neighbours_are_no_farther_apart_than_is_paid_for(
    ticks: int, counted: int
) -> None:
    """All ways in which a person may count before and after a change, with roundings."""
    release = shaped(ticks, counted, 0.99, 0.3)
    assert release.buffers.weights[0] > 2**28
    found = []
    for number in range(counted + 1):
        for chosen in combinations(range(ticks), number):
            buffers, indices = release.start(1)["buffers"], []
            for tick in range(ticks):
                value = np.array([[int(tick in chosen)]])
                index, buffers = release.buffers.encode(buffers, value, release.precision.scale)
                indices.append(int(index[0, 0]))
            found.append(np.array(indices))
    squares = [int(((one - two) ** 2).sum()) for one, two in combinations(found, 2)]
    assert 0.4 * release.precision.squares < max(squares) <= release.precision.squares


@pytest.mark.parametrize("signed", [False, True])
def test_indices_of_two_groups_are_no_farther_apart_than_is_paid_for(signed: bool) -> None:
    """All that one person may contribute to 4 ticks, in whichever of two groups and sign."""
    cap = PersonalCap(2, 4, signed=signed)
    model = DeclaredModel((20.0, 20.0), (5.0, 5.0), 0.99)
    release = ShapedRelease(2, 3, 0.3, 1e-6, cap, model, tick_milliseconds=1000)
    inputs = []
    for number in range(3):
        for chosen in combinations(range(4), number):
            for said in product((0, 1), (3, -3) if signed else (3, 1), repeat=number):
                sums = np.zeros((4, 2), dtype=np.int64)
                for place, tick in enumerate(chosen):
                    sums[tick, said[2 * place]] = said[2 * place + 1]
                inputs.append(sums)
    rows = np.stack(inputs)
    buffers, indices = release.start(len(rows))["buffers"], []
    for tick in range(4):
        index, buffers = release.buffers.encode(buffers, rows[:, tick], release.precision.scale)
        indices.append(index)
    flat = np.concatenate(indices, axis=1)
    squares = max(int(((one - two) ** 2).sum()) for one, two in combinations(flat, 2))
    assert 0.4 * release.precision.squares < squares <= release.precision.squares


def run(release: ShapedRelease, rows: int, seed: int, ticks: int) -> tuple[Floats, Floats, Floats]:
    """Truth, estimates and stated errors of series that follow the model."""
    rng = np.random.default_rng(seed)
    [mean], [deviation], rho = (
        release.model.means,
        release.model.deviations,
        release.model.correlation,
    )
    state, draws = release.start(rows), SimulatedDraws(rng)
    true = deviation * rng.standard_normal((rows, 1))
    found = []
    for tick in range(ticks):
        values = np.rint(mean + true).astype(np.int64)
        state = release.elapse(state, np.full(rows, tick))
        state, releases = release.step(state, Inputs(values), draws)
        found.append((values, releases.values, releases.annotations["standard_error"]))
        true = rho * true + sqrt(1 - rho * rho) * deviation * rng.standard_normal((rows, 1))
    truth, estimates, errors = (np.stack(one)[..., 0] for one in zip(*found, strict=True))
    return truth, estimates, errors


def test_estimates_err_as_much_as_is_said_and_less_than_without_a_shape() -> None:
    """A seeded test: 400 series of 200 ticks, noise of about 20 times the variance."""
    release = shaped(2**10, 1, 0.95, 0.35)
    truth, estimates, errors = run(release, rows=400, seed=5, ticks=200)
    late = slice(100, None)
    squared = float(((estimates - truth)[late] ** 2).mean())
    audit = release.audit()
    assert squared == pytest.approx(
        float(str(audit["standard error on average over a period, by the model"])) ** 2, rel=0.1
    )
    held = np.abs(estimates - truth)[late] <= 1.96 * errors[late]
    assert 0.93 <= held.mean() <= 0.97
    plain = float(str(audit["the same, of figures that are not mixed"])) ** 2
    assert plain / squared == pytest.approx(1.4, abs=0.15)


def test_bars_of_a_wrong_model_grow_with_the_surprise() -> None:
    release = shaped(2**10, 1, 0.95, 3.0)
    state, draws = release.start(300), SimulatedDraws(np.random.default_rng(6))
    for tick in range(60):
        state = release.elapse(state, np.full(300, tick))
        state, releases = release.step(state, Inputs(np.full((300, 1), 200)), draws)
    said = float(releases.annotations["standard_error"].mean())
    by_model = float(str(release.audit()["standard error on average over a period, by the model"]))
    assert said > 3 * by_model


def test_a_period_leaves_nothing_in_measurements_of_the_next() -> None:
    release = shaped(4, 1, 0.99, 0.3)
    measured = []
    for before in (0, 10**6):
        state, draws = release.start(1), SimulatedDraws(np.random.default_rng(7))
        for tick in range(6):
            state = release.elapse(state, np.array([tick]))
            value = np.array([[before if tick < 4 else 30]])
            state, _ = release.step(state, Inputs(value), draws)
        measured.append(state["measured"])
    assert np.array_equal(measured[0], measured[1])


@pytest.mark.parametrize(
    ("correlation", "noise", "least"),
    [(0.95, 5, 1.40), (0.95, 100, 1.27), (0.99, 5, 1.83), (0.99, 20, 2.02), (0.99, 100, 2.00)],
)
def test_the_gain_is_what_the_docstring_says(
    correlation: float, noise: float, least: float
) -> None:
    """Variances of errors beside the same filter on unmixed figures, for one tick counted."""
    changes = Changes(2**14, 1, 1, 1, 1)
    buffers = suited(changes, correlation, noise)
    weight, factor = np.array([[*buffers.weights], [*buffers.factors]]) / UNIT
    norm = float(participation(buffers, changes.ticks, 1))
    ratio, none = np.array([noise * norm]), np.zeros(1)
    mine = errors_of_a_period(correlation, weight, factor, ratio, 2**14)[0]
    plain = errors_of_a_period(correlation, none, none, np.array([float(noise)]), 2**14)[0]
    assert plain / mine == pytest.approx(least, rel=0.01)


def test_in_a_short_period_the_error_that_is_said_is_that_of_buffers_that_begin_anew() -> None:
    """A seeded test: 2,000 series of 20 periods of 6 ticks, of which the last 10 are measured."""
    release = shaped(6, 1, 0.99, 0.35)
    truth, estimates, _ = run(release, rows=2000, seed=9, ticks=120)
    late = slice(60, None)
    squared = float(((estimates - truth)[late] ** 2).mean())
    audit = release.audit()
    said = float(str(audit["standard error on average over a period, by the model"]))
    plain = float(str(audit["the same, of figures that are not mixed"]))
    assert squared == pytest.approx(said**2, rel=0.06)
    assert 1.2 < (plain / said) ** 2 < 1.6


@pytest.mark.parametrize("deviation", [2.0**-20, 1e-3, 1e10, 1e12, 2.0**44])
def test_errors_of_any_model_are_positive_and_finite(deviation: float) -> None:
    model = DeclaredModel((-(2.0**44),), (deviation,), 0.99)
    cap = PersonalCap(1, 50)
    release = ShapedRelease(1, 1, 3.0, 1e-6, cap, model, tick_milliseconds=1000)
    plain = release.noise_deviation
    state, draws = release.start(1), SimulatedDraws(np.random.default_rng(10))
    for tick in range(120):
        state = release.elapse(state, np.array([tick]))
        state, releases = release.step(state, Inputs(np.array([[2**40]])), draws)
        error = float(releases.annotations["standard_error"][0, 0])
        assert np.isfinite(releases.values).all()
        assert 0.5 * min(deviation, plain) < error < np.inf


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("mean", ((1e200,), (1.0,), 0.9)),
        ("mean", ((float("nan"),), (1.0,), 0.9)),
        ("deviation", ((1.0,), (1e200,), 0.9)),
        ("deviation", ((1.0,), (0.0,), 0.9)),
        ("deviation", ((1.0,), (float("inf"),), 0.9)),
    ],
)
def test_a_model_beyond_what_figures_can_be_is_refused(
    name: str, model: tuple[tuple[float], tuple[float], float]
) -> None:
    with pytest.raises(ValueError, match=f"^{name}: must be from"):
        DeclaredModel(*model)


def test_ticks_that_nobody_was_in_age_what_is_believed() -> None:
    """After 40 of them little is known of a figure; without the gap it was known well."""
    release = shaped(1000, 1, 0.95, 3.0)
    found = []
    for last in (20, 60):
        state, draws = release.start(1), SimulatedDraws(np.random.default_rng(11))
        for tick in (*range(20), last):
            state = release.elapse(state, np.array([tick]))
            state, _ = release.step(state, Inputs(np.array([[20]])), draws)
        found.append(float(state["own"][0, 0]))
        again = release.elapse(state, np.array([last + 40]))
        believed = release._gone_on(again)["own"][0, 0]
        left = 0.95**80
        assert believed == pytest.approx(left * state["own"][0, 0] + (1 - left) * 25.0)
    assert found[1] > found[0]


@pytest.mark.acceptance
@pytest.mark.parametrize("correlation", [0.95, 0.99])
@pytest.mark.parametrize("noise", [5.0, 20.0, 100.0])
def test_no_mixture_is_much_better_in_real_time(correlation: float, noise: float) -> None:
    """The error of the best filter of all earlier measurements, by spectral factorisation, for the
    best spectrum of 25 free numbers; smoothing afterwards would gain 2.4 to 4.5 instead."""
    points, knots = 4096, np.concatenate([[0.0], np.geomspace(2e-3, np.pi, 24)])
    circle = 2 * np.pi * np.arange(points) / points
    lowest = np.minimum(circle, 2 * np.pi - circle)
    signal = (1 - correlation**2) / np.abs(1 - correlation * np.exp(-1j * circle)) ** 2

    def error(heights: Floats) -> float:
        mixed = np.exp(np.interp(lowest, knots, heights))
        spectrum = signal + noise * mixed.mean() / mixed
        cepstrum = np.fft.ifft(np.log(spectrum)).real
        half = np.zeros(points)
        half[0], half[1 : points // 2] = cepstrum[0] / 2, cepstrum[1 : points // 2]
        causal = np.fft.ifft(signal / np.conj(np.exp(np.fft.fft(half)))).real[: points // 2]
        return float(1 - np.sum(causal**2))

    best = min(
        error(minimize(error, start, method="L-BFGS-B", options={"maxiter": 60}).x)
        for start in (np.zeros(25), -np.log(knots + 0.05))
    )
    buffers = suited(Changes(2**14, 1, 1, 1, 1), correlation, noise)
    weight, factor = np.array([[*buffers.weights], [*buffers.factors]]) / UNIT
    norm = float(participation(buffers, 2**14, 1))
    ratio = np.array([noise * norm])
    mine = float(errors_of_a_period(correlation, weight, factor, ratio, 2**14)[0])
    assert 0.99 * best <= mine <= 1.01 * best


def test_history_gives_the_model_that_it_was_drawn_from() -> None:
    rng = np.random.default_rng(8)
    values = [0.0]
    for _ in range(4000):
        values.append(0.9 * values[-1] + sqrt(1 - 0.81) * float(rng.standard_normal()))
    found = DeclaredModel.of_history([[100.0 + 10.0 * one for one in values]])
    assert found.means[0] == pytest.approx(100.0, abs=3.0)
    assert found.deviations[0] == pytest.approx(10.0, rel=0.1)
    assert found.correlation == pytest.approx(0.9, abs=0.02)


def test_the_promise_is_about_estimates_and_takes_the_model_for_public() -> None:
    [promised] = shaped(6, 1, 0.9).guarantees()
    assert {"declared-in-public", "filter-weights"} <= {one.name for one in promised.not_covered}
    assert promised.accounting[0].name == "shaped-noise"
    assert "real-time release specification" in str(promised.proof)


@pytest.mark.parametrize(
    ("told", "open_end"),
    [({}, False), ({"weights": (0.5, 1.0)}, True), ({"history": ((1.0, 2.0, 4.0),)}, True)],
)
def test_what_a_filter_is_told_is_not_covered(told: dict[str, Any], open_end: bool) -> None:
    [promised] = RealTimeRelease(1, 1, 1, 1.0, 1e-6, horizon=5, **told).guarantees()
    assert ("declared-in-public" in {one.name for one in promised.not_covered}) is open_end


@pytest.mark.parametrize("history", [[[1.0, 2.0]], [[3.0, 3.0, 3.0]], [[]], [[1.0, 2.0, 1e300]]])
def test_history_that_says_nothing_is_refused(history: list[list[float]]) -> None:
    with pytest.raises(ValueError, match=r"^history"):
        DeclaredModel.of_history(history)


def test_people_who_count_in_every_tick_leave_nothing_to_gain() -> None:
    assert shaped(5, 5, 0.99).buffers.weights == (1,)
