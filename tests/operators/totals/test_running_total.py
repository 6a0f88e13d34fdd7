"""Running totals: what is exact without noise, how far noise is off, and what begins anew."""

from itertools import combinations, pairwise, product
from math import sqrt

import numpy as np
import pytest

from fugu.operators.guarantee import PRESENCE
from fugu.operators.mechanism import Floats, Inputs, Integers, Kind, State
from fugu.operators.noise.gaussian import squares_of
from fugu.operators.personal_cap import PersonalCap
from fugu.operators.totals.running_total import RunningTotal
from tests.conformance.example import EPSILONS, Example, Examples, Unusable
from tests.operators.noise.simulated import SimulatedDraws

COUNTS = np.array([[0, 0, 0], [120, 7, 300], [121, 7, 300], [3, 3, -3]])


def examples(kind: type[RunningTotal]) -> tuple[Example, ...]:
    capped = PersonalCap(2, 6)
    return (
        Example(kind(3, 1, 2, 1.0, 1e-6, 100, 1), COUNTS),
        Example(kind(3, 1, 2, 1.0, 1e-6, personal_cap=capped, tick_milliseconds=1000), COUNTS),
        Example(kind(1, 5, 1, 0.5, 1e-9, 7, tick_milliseconds=1000), COUNTS[:, :1]),
        Example(kind(2, 1, 1, 3.0, 1e-6, 9, 3, neighbours=PRESENCE), COUNTS[:, 1:]),
        Example(
            kind(
                3, 1, 2, 1.0, 1e-6, personal_cap=PersonalCap(2, 6, "rising"), tick_milliseconds=1000
            ),
            COUNTS,
        ),
        Example(
            kind(
                3,
                1,
                1,
                1.0,
                1e-6,
                personal_cap=PersonalCap(2, 6, signed=True),
                tick_milliseconds=1000,
            ),
            COUNTS,
        ),
        Example(kind(3, 1, 2, 0.2, 1e-6, 4000, 4), COUNTS),
        Example(
            kind(
                3, 1, 2, 1.0, 1e-6, personal_cap=PersonalCap(2, 6, apart=3), tick_milliseconds=1000
            ),
            COUNTS,
        ),
    )


EXAMPLES: Examples = {RunningTotal: examples}
UNUSABLE: Unusable = {
    RunningTotal: {
        "bins": (0, -1, 2**17 + 1),
        "sensitivity": (0, -1, 2**44 + 1),
        "changed_bins": (0, -1, 3),
        "epsilon": (*EPSILONS, 20.1),
        "delta": (0.0, 1.0, -0.1, 1e-17),
        "horizon": (0, -1, 2**15 + 1),
        "window": (0, -1, 2**15 + 1),
        "tick_milliseconds": (0, -1),
    }
}


def run(
    totals: RunningTotal, truth: Integers, seed: int, ticks: range | None = None
) -> tuple[Floats, list[State]]:
    """Released totals and annotations of `truth (ticks, rows, bins)`."""
    state, draws = totals.start(truth.shape[1]), SimulatedDraws(np.random.default_rng(seed))
    found, told = [], []
    for tick, values in zip(ticks or range(len(truth)), truth, strict=True):
        state = totals.elapse(state, np.full(truth.shape[1], tick))
        state, releases = totals.step(state, Inputs(values), draws)
        found.append(releases.values)
        told.append({**releases.annotations, "kind": np.asarray(releases.kinds)})
    return np.stack(found), told


def test_totals_and_their_differences_err_as_much_as_is_said() -> None:
    """A seeded test of 2,000 runs: within 4 standard errors of a variance, sqrt(2 / 2000)."""
    totals = RunningTotal(
        1, 1, 1, 3.0, 1e-6, personal_cap=PersonalCap(10, 100), tick_milliseconds=1000
    )
    truth = np.random.default_rng(1).integers(0, 50, (100, 1, 1)).repeat(2000, axis=1)
    found, told = run(totals, truth, seed=2)
    errors = (found - np.cumsum(truth, axis=0))[..., 0]
    within = 4 * sqrt(2 / 2000)
    for tick in (1, 2, 10, 50, 100):
        stated = told[tick - 1]["standard_error"][0]
        assert errors[tick - 1].var() == pytest.approx(stated**2, rel=within)
        assert abs(errors[tick - 1].mean()) < 4 * stated / sqrt(2000)
    for first, last in ((0, 1), (9, 10), (40, 64), (20, 90), (76, 100)):
        before = errors[first - 1] if first else 0.0
        stated = totals.errors.of_difference(first, last)
        assert (errors[last - 1] - before).var() == pytest.approx(stated, rel=within)


def test_wide_draws_have_the_same_law_with_finer_steps() -> None:
    totals = RunningTotal(2, 1, 2, 0.2, 1e-6, 4000, 4)
    assert totals.precision.wide
    truth = np.full((3, 2000, 2), 10)
    found, told = run(totals, truth, seed=3)
    errors = (found - np.cumsum(truth, axis=0))[..., 0]
    for tick in range(3):
        stated = told[tick]["standard_error"][0]
        assert errors[tick].var() == pytest.approx(stated**2, rel=4 * sqrt(2 / 2000))


def test_after_the_horizon_the_last_total_is_repeated() -> None:
    totals = RunningTotal(2, 1, 2, 3.0, 1e-6, 5)
    found, told = run(totals, np.ones((8, 1, 2), dtype=np.int64), seed=4)
    assert np.array_equal(found[4:], np.broadcast_to(found[4], (4, 1, 2)))
    kinds = [int(one["kind"][0]) for one in told]
    assert kinds == [Kind.FRESH] * 5 + [Kind.REPEATED] * 3
    assert told[-1]["standard_error"] == told[4]["standard_error"]


def test_a_period_of_a_cap_begins_anew_and_totals_go_on() -> None:
    """Blocks are those of event time; variances of closed ones add up."""
    totals = RunningTotal(
        1, 1, 1, 3.0, 1e-6, personal_cap=PersonalCap(1, 4), tick_milliseconds=1000
    )
    truth = np.full((9, 1, 1), 1000)
    found, told = run(totals, truth, seed=5, ticks=range(102, 111))
    assert [int(one["block"][0]) for one in told] == [25] * 2 + [26] * 4 + [27] * 3
    assert [int(one["position"][0]) for one in told] == [1, 2, 1, 2, 3, 4, 1, 2, 3]
    own = totals.errors.variances
    expected = [own[1], own[2], *(own[2] + own[1:5]), *(own[2] + own[4] + own[1:4])]
    assert [one["standard_error"][0] ** 2 for one in told] == pytest.approx(expected)
    assert found[:, 0, 0] == pytest.approx(np.cumsum(truth[:, 0, 0]), abs=5 * sqrt(expected[-1]))


def test_buffers_of_a_closed_period_are_forgotten() -> None:
    """Compare measurements of a period: contributions to the one before leave no trace."""
    totals = RunningTotal(
        1, 1, 1, 3.0, 1e-6, personal_cap=PersonalCap(1, 4), tick_milliseconds=1000
    )
    state, draws = totals.start(1), SimulatedDraws(np.random.default_rng(6))
    for tick in range(5):
        state = totals.elapse(state, np.array([tick]))
        state, _ = totals.step(state, Inputs(np.array([[10**6 if tick < 4 else 0]])), draws)
    assert not state["buffers"].any()


APART = RunningTotal(
    1, 1, 1, 3.0, 1e-6, personal_cap=PersonalCap(2, 10, apart=4), tick_milliseconds=1000
)


def told(totals: RunningTotal, ticks: list[int], rows: int, seed: int) -> tuple[Floats, list[int]]:
    """The last totals of 100 in each of these ticks, and the places that totals had."""
    state, draws, places = totals.start(rows), SimulatedDraws(np.random.default_rng(seed)), []
    for tick in ticks:
        state = totals.elapse(state, np.full(rows, tick))
        state, releases = totals.step(state, Inputs(np.full((rows, 1), 100)), draws)
        places.append(int(releases.annotations["position"][0]))
    return releases.values[:, 0], places


def test_gaps_count_ticks_so_those_that_nobody_was_in_are_measured_as_zeros() -> None:
    """Ticks 20 and 27 of one period: six silent ticks between them, and none before the first."""
    found, places = told(APART, [20, 27, 31], rows=1, seed=8)
    assert places == [1, 8, 1]
    without = RunningTotal(
        1, 1, 1, 3.0, 1e-6, personal_cap=PersonalCap(2, 10), tick_milliseconds=1000
    )
    assert told(without, [20, 27, 31], rows=1, seed=8)[1] == [1, 2, 1]
    found, _ = told(APART, [20, 27], rows=2000, seed=9)
    stated = float(APART.errors.variances[8])
    assert (found - 200.0).var() == pytest.approx(stated, rel=4 * sqrt(2 / 2000))


@pytest.mark.parametrize(("ticks", "counted", "apart"), [(6, 2, 2), (7, 2, 3), (7, 3, 2)])
def test_indices_of_neighbours_with_gaps_are_no_farther_apart_than_is_paid_for(
    ticks: int, counted: int, apart: int
) -> None:
    """All ways in which a person may count before and after a change, with roundings."""
    cap = PersonalCap(counted, ticks, apart=apart)
    totals = RunningTotal(1, 1, 1, 3.0, 1e-6, personal_cap=cap, tick_milliseconds=1000)
    patterns = [
        chosen
        for number in range(counted + 1)
        for chosen in combinations(range(ticks), number)
        if all(after - before >= apart for before, after in pairwise(chosen))
    ]
    indices = []
    for chosen in patterns:
        buffers, found = totals.start(1)["buffers"], []
        for tick in range(ticks):
            value = np.array([[int(tick in chosen)]])
            index, buffers = totals.buffers.encode(buffers, value, totals.precision.scale)
            found.append(int(index[0, 0]))
        indices.append(found)
    squares = [
        sum((a - b) ** 2 for a, b in zip(*two, strict=True)) for two in combinations(indices, 2)
    ]
    assert max(squares) <= totals.precision.squares
    assert max(squares) > 0.4 * totals.precision.squares


@pytest.mark.parametrize("signed", [False, True])
def test_indices_of_two_groups_with_gaps_are_no_farther_apart_than_is_paid_for(
    signed: bool,
) -> None:
    """All that one person may contribute to 4 ticks, in whichever of two groups and sign."""
    cap = PersonalCap(2, 4, apart=2, signed=signed)
    totals = RunningTotal(2, 3, 2, 3.0, 1e-6, personal_cap=cap, tick_milliseconds=1000)
    inputs = []
    for chosen in ((), *((tick,) for tick in range(4)), (0, 2), (0, 3), (1, 3)):
        for said in product((0, 1), (3, -3) if signed else (3, 1), repeat=len(chosen)):
            sums = np.zeros((4, 2), dtype=np.int64)
            for place, tick in enumerate(chosen):
                sums[tick, said[2 * place]] = said[2 * place + 1]
            inputs.append(sums)
    rows = np.stack(inputs)
    buffers, indices = totals.start(len(rows))["buffers"], []
    for tick in range(4):
        index, buffers = totals.buffers.encode(buffers, rows[:, tick], totals.precision.scale)
        indices.append(index)
    flat = np.concatenate(indices, axis=1)
    squares = max(int(((one - two) ** 2).sum()) for one, two in combinations(flat, 2))
    assert 0.4 * totals.precision.squares < squares <= totals.precision.squares


def test_gaps_make_totals_better_and_the_table_is_near_a_fit_of_its_own() -> None:
    """Section 3: 12.194 for 10 of 1,000 ticks that are 100 apart, and 23.315 without gaps."""
    cap = PersonalCap(10, 1000, apart=100)
    totals = RunningTotal(1, 1, 1, 3.0, 1e-6, personal_cap=cap, tick_milliseconds=1000)
    in_units = totals.error / (totals.precision.noise_of_a_change * sqrt(cap.factor))
    assert in_units <= 1.05 * 12.194
    close = RunningTotal(
        1, 1, 1, 3.0, 1e-6, personal_cap=PersonalCap(10, 1000), tick_milliseconds=1000
    )
    assert totals.error < 0.6 * close.error


def test_figures_beyond_what_64_bits_hold_are_cut_off() -> None:
    totals = RunningTotal(1, 1, 1, 20.0, 1e-3, 2**15, 1)
    truth = np.array([[[2**44]], [[-(2**44)]]])
    found, _ = run(totals, truth, seed=7)
    assert found[0, 0, 0] == pytest.approx(totals.largest, rel=1e-3)
    assert totals.largest < 2**44


@pytest.mark.parametrize(("ticks", "best"), [(312, 2.534), (1000, 2.902), (10_000, 3.634)])
def test_the_table_is_within_a_tenth_of_what_any_factorisation_can_do(
    ticks: int, best: float
) -> None:
    """Section 3: no factorisation is better than these, for one tick counted."""
    totals = RunningTotal(1, 1, 1, 3.0, 1e-6, ticks, 1)
    error = float(np.sqrt(totals.errors.variances[1:].mean()))
    in_units = error / totals.precision.noise_of_a_change
    assert best <= in_units <= 1.1 * best


@pytest.mark.parametrize(
    ("ticks", "counted", "fitted"),
    [(312, 20, 34.570), (1000, 10, 23.315), (10_000, 20, 57.060)],
)
def test_the_table_is_near_what_was_fitted_for_a_horizon_of_its_own(
    ticks: int, counted: int, fitted: float
) -> None:
    totals = RunningTotal(1, 1, 1, 3.0, 1e-6, ticks, counted)
    error = float(np.sqrt(totals.errors.variances[1:].mean()))
    assert error / totals.precision.noise_of_a_change <= 1.1 * fitted


def test_declared_delta_includes_what_finite_precision_adds() -> None:
    for example in examples(RunningTotal):
        precision = example.mechanism.precision  # type: ignore[attr-defined]
        assert 0 < precision.reserved < precision.delta
        if not precision.wide:
            assert precision.squares <= squares_of(precision.epsilon, precision.delta)


def test_levels_of_privacy_are_told_apart() -> None:
    [windows] = RunningTotal(3, 1, 2, 1.0, 1e-6, 100, 1).guarantees()
    [whole] = RunningTotal(3, 1, 2, 1.0, 1e-6, 100).guarantees()
    [period] = RunningTotal(
        3, 1, 2, 1.0, 1e-6, personal_cap=PersonalCap(2, 6), tick_milliseconds=1000
    ).guarantees()
    assert (windows.notion, windows.per, windows.window) == ("w-event-dp", "window", 1)
    assert (whole.notion, whole.per, whole.window) == ("dp", "stream", None)
    assert (period.notion, period.per, period.window) == ("w-event-dp", "period", 6)
    assert {one.total_delta for one in (windows, whole, period)} == {1e-6}


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("horizon", {}),
        ("horizon", {"horizon": 6, "personal_cap": PersonalCap(2, 6)}),
        ("window", {"window": 2, "personal_cap": PersonalCap(2, 6)}),
        ("personal_cap", {"personal_cap": PersonalCap(2, 2**16)}),
    ],
)
def test_what_does_not_go_together_is_refused(name: str, given: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=f"^{name}"):
        RunningTotal(1, 1, 1, 1.0, 1e-6, tick_milliseconds=1000, **given)  # type: ignore[arg-type]
