"""Strategies tick by tick: what is published, with how much noise, and what is told about it."""

from dataclasses import replace
from datetime import datetime
from math import nan, sqrt

import numpy as np
import pytest

from fugu.operators.auditing.noise_as_drawn import ChosenNoise, chosen
from fugu.operators.mechanism import Inputs, Integers, Kind
from fugu.operators.swellfish.calendar import Once, Zone
from fugu.operators.swellfish.changes import Change
from fugu.operators.swellfish.household import HOUSEHOLD
from fugu.operators.swellfish.interval_strategies import TINARUniform, Unicorn, UnicornIS, UnicornPS
from fugu.operators.swellfish.policy import Occurrence, Policy
from fugu.operators.swellfish.relevance import Status
from fugu.operators.swellfish.strategy import Irrelevant
from fugu.operators.swellfish.ts_strategies import (
    TSBudgetAbsorption,
    TSBudgetDistribution,
    TSSample,
    TSUniform,
)
from fugu.operators.wevent.spread_strategies import Uniform
from tests.conformance.streams import Stored
from tests.operators.swellfish.fixed_timeline import FixedTimeline, random_timeline
from tests.operators.swellfish.running import UNITS, Strategy, run, simulated

SAMPLED, REPEATED, EXACT, NOISY, NOTHING = Status
PRINTED = FixedTimeline(((Occurrence(2, 3, (10,)), Occurrence(3, 6, (22, 22))),), 2757)
"""The example of the paper, of which tick 1 is the first."""


def constant(ticks: int, value: int = 500, rows: int = 1) -> Integers:
    return np.full((ticks, rows, 1), value)


def no_noise(rows: int = 1) -> ChosenNoise:
    """Return draws without noise for releases; a decision that is drawn has none to take."""
    return ChosenNoise({"release": np.zeros((rows, 1), dtype=np.int64)})


def test_sensitivities_are_those_of_the_printed_example() -> None:
    ran = run(UnicornPS(PRINTED, 1, 1.0), constant(8), simulated(1))
    assert ran.column("sensitivity")[:, 0].tolist() == [0, 0, 10, 32, 22, 22, 22, 0]


def test_what_is_irrelevant_is_repeated_or_exact_or_has_noise_for_a_whole_contribution() -> None:
    values = np.arange(100, 108)[:, None, None]
    relevant = [SAMPLED] * 5
    modes: list[tuple[Irrelevant, Status, Status]] = [
        ("repeat", NOTHING, REPEATED),
        ("exact", EXACT, EXACT),
        (0.5, NOISY, NOISY),
    ]
    for irrelevant, before, after in modes:
        strategy = UnicornPS(PRINTED, 1, 1.0, irrelevant=irrelevant)
        ran = run(strategy, values, no_noise())
        assert ran.column("status")[:, 0].tolist() == [before, before, *relevant, after]
        last = 106 if irrelevant == "repeat" else 107
        first = [0, 0] if irrelevant == "repeat" else [100, 101]
        assert ran.values[:, 0, 0].tolist() == [*first, *range(102, 107), last]
        assert (ran.charged()[[0, 1, 7]] == 0).all(), "nothing of the budget of policies"


def test_kinds_follow_the_status() -> None:
    ran = run(UnicornIS(PRINTED, 1, 1.0), constant(4), no_noise())
    kinds = [releases.kinds for releases in ran.releases]
    assert np.concatenate([kind for kind in kinds if kind is not None]).tolist() == [
        Kind.SUPPRESSED, Kind.SUPPRESSED, Kind.FRESH, Kind.REPEATED,
    ]  # fmt: skip
    exact = run(UnicornIS(PRINTED, 1, 1.0, irrelevant="exact"), constant(1), no_noise())
    assert exact.releases[0].kinds == Kind.FRESH


def test_an_exact_tick_is_what_is_repeated_later_and_compared_with() -> None:
    """It is newer than the last sample, and has no error."""
    gap = FixedTimeline(((Occurrence(0, 0, (1,)), Occurrence(2, 3, (1,))),), 1)
    unicorn = Unicorn(gap, 1, 1.0, irrelevant="exact")
    never = chosen(np.array([-(2**45)]), np.zeros((1, 1), dtype=np.int64))
    ran = run(unicorn, np.array([50, 60, 70, 80])[:, None, None], never)
    assert ran.column("status")[:, 0].tolist() == [SAMPLED, EXACT, REPEATED, REPEATED]
    assert ran.values[:, 0, 0].tolist() == [50, 60, 60, 60]
    assert ran.column("standard_error")[1:, 0].tolist() == [0.0, 0.0, 0.0]


def test_ticks_that_have_an_open_interval_and_no_change_are_irrelevant_but_not_to_tinar() -> None:
    timeline = FixedTimeline(((Occurrence(0, 1, (0,)),),), 5)
    for kind, status in ((UnicornPS, NOTHING), (TINARUniform, SAMPLED)):
        ran = run(kind(timeline, 1, 1.0), constant(3), no_noise())
        assert ran.column("status")[:, 0].tolist() == [status, status, ran.column("status")[2, 0]]
        assert ran.column("sensitivity")[:, 0].tolist() == [5 * (status == SAMPLED)] * 2 + [0]


def test_a_release_is_as_noisy_as_it_says() -> None:
    """Mean 0 and the variance of its standard error, at sampled and at noisy ticks."""
    rows, bins = 60, 300
    timeline = FixedTimeline(((Occurrence(1, 4, (300, 20)),),), 4000)
    strategy = UnicornPS(timeline, bins, 0.5, irrelevant=0.25)
    values = np.full((3, rows, bins), 12_345)
    ran = run(strategy, values, simulated(3))
    errors = [sqrt(2) * 4000 / 0.25, sqrt(2) * 300 / 0.25, sqrt(2) * 300 / 0.25]
    assert ran.column("standard_error")[:, 0].tolist() == pytest.approx(errors, rel=1e-6)
    for released, error in zip(ran.values, errors, strict=True):
        noise = (released - 12_345).ravel().astype(float)
        assert abs(noise.mean()) < 4 * error / sqrt(noise.size)
        assert noise.var() == pytest.approx(error**2, rel=4 * sqrt(5 / noise.size))


@pytest.mark.parametrize(("bins", "sensitivity"), [(1, 1), (4, 7)])
def test_a_tick_is_sampled_exactly_if_the_noisy_distance_is_above_the_scale_of_new_noise(
    bins: int, sensitivity: int
) -> None:
    """L dis > L D / p, for every noise around the limit, and with what the price cuts off."""
    timeline = FixedTimeline(((Occurrence(0, 9, (sensitivity,) * 5),),), sensitivity)
    unicorn = Unicorn(timeline, bins, 1.0)
    share = UNITS // 2 // 5
    limit = (bins << 40) // (share // sensitivity)
    price = share // sensitivity
    noise = np.concatenate([np.arange(-3, 4) * price, np.arange(-2, 4) * price - 1])
    rows, nothing = len(noise), np.zeros((len(noise), bins), dtype=np.int64)
    values = np.stack([nothing, nothing])
    values[1, :, 0] = limit
    ran = run(unicorn, values[:1], chosen(noise, nothing))
    ran = run(unicorn, values[1:], chosen(noise, nothing), ran.state)
    cut_off = np.sign(noise) * (np.abs(noise) // price)
    assert (ran.column("status")[0] == np.where(cut_off > 0, SAMPLED, REPEATED)).all()
    assert (ran.units("decision") == share).all(), "whether a sample follows or not"
    assert len(set(ran.units("publication")[0].tolist())) == 2
    assert rows == 13


@pytest.mark.parametrize("kind", [TSBudgetDistribution, TSBudgetAbsorption])
def test_a_first_release_is_not_decided_upon(
    kind: type[TSBudgetDistribution | TSBudgetAbsorption],
) -> None:
    """No noise for a decision is there to be drawn, and none is charged."""
    ran = run(kind(PRINTED, 1, 1.0, window=4), constant(3), no_noise())
    first = {TSBudgetDistribution: [0, 0, 0.25], TSBudgetAbsorption: [0, 0, 3 / 8]}[kind]
    assert ran.column("publication_epsilon")[:, 0].tolist() == first
    assert not ran.units("decision").any()
    with pytest.raises(KeyError, match="dissimilarity"):
        run(kind(PRINTED, 1, 1.0, window=4), constant(6), no_noise())
    at_once = FixedTimeline(((Occurrence(0, 3, (1,)),),), 1)
    begun = run(kind(at_once, 1, 1.0, window=4), constant(1), no_noise())
    first_tick = {TSBudgetDistribution: 1 / 4, TSBudgetAbsorption: 1 / 8}[kind]
    assert begun.column("publication_epsilon").item() == first_tick
    with pytest.raises(KeyError, match="dissimilarity"):
        run(Unicorn(at_once, 1, 1.0), constant(2), no_noise())


def test_an_exact_tick_is_free_while_budget_absorption_is_silent() -> None:
    """Published at tick 4 with the budget of 5 ticks: silent at 5 to 8, also around tick 6."""
    busy = FixedTimeline(((Occurrence(4, 5, (1,)), Occurrence(7, 12, (1,))),), 1)
    strategy = TSBudgetAbsorption(busy, 1, 1.0, irrelevant="exact", window=8)
    always = chosen(np.array([2**45]), np.zeros((1, 1), dtype=np.int64))
    started = run(strategy, constant(4), no_noise()).state
    ran = run(strategy, constant(7), always, {**started, "begun": np.zeros(1, dtype=np.bool_)})
    status = ran.column("status")[:, 0].tolist()
    assert status == [SAMPLED, REPEATED, EXACT, REPEATED, REPEATED, SAMPLED, SAMPLED]
    assert ran.column("publication_epsilon")[:, 0].tolist() == [
        5 / 16, 0, 0, 0, 0, 1 / 16, 1 / 16,
    ]  # fmt: skip


def test_a_sample_that_falls_on_an_irrelevant_tick_is_lost_to_its_window() -> None:
    """Unless that tick is exact."""
    values = np.arange(100, 108)[:, None, None]
    lost = run(TSSample(PRINTED, 1, 1.0, window=4), values, no_noise())
    assert lost.column("status")[:, 0].tolist() == [NOTHING] * 4 + [SAMPLED] + [REPEATED] * 3
    exact = run(TSSample(PRINTED, 1, 1.0, window=4, irrelevant="exact"), values, no_noise())
    assert exact.values[:, 0, 0].tolist() == [100, 101, 101, 101, 104, 104, 104, 107]


@pytest.mark.parametrize("kind", [UnicornIS, UnicornPS, Unicorn, TINARUniform])
def test_a_budget_below_the_resolution_samples_nothing_and_costs_nothing(
    kind: type[Strategy],
) -> None:
    largest = 2**40
    many = tuple(Occurrence(start, start + 9, (largest,) * 9) for start in range(4))
    timeline = FixedTimeline(((Occurrence(0, 13, (1,) * 14),), many), largest)
    with np.errstate(all="raise"):
        ran = run(kind(timeline, 1, 2.0), constant(10), simulated(1))
    sampled = np.flatnonzero(ran.units("publication")[:, 0]).tolist()
    assert sampled == ([0] if kind is UnicornIS else [])
    assert ran.charged().sum() == 2 * UNITS * len(sampled)


def test_an_epsilon_that_is_no_use_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^epsilon: .* give at least 2\.50748e-09 nats"):
        UnicornPS(PRINTED, 1, 1e-9)
    with pytest.raises(ValueError, match=r"^epsilon: .* give at least 5\.01495e-09 nats"):
        Unicorn(PRINTED, 1, 3e-9)
    with pytest.raises(ValueError, match=r"^irrelevant: .* give at least"):
        UnicornPS(PRINTED, 1, 1.0, irrelevant=1e-9)
    with pytest.raises(ValueError, match=r"^irrelevant: must be repeat, exact, or"):
        UnicornPS(PRINTED, 1, 1.0, irrelevant="zero")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^timeline: must be from 1"):
        UnicornPS(replace(PRINTED, largest_sensitivity=0), 1, 1.0)


@pytest.mark.parametrize("kind", [UnicornIS, UnicornPS, Unicorn])
def test_a_restart_in_the_middle_of_an_interval_goes_on_with_the_same_budgets(
    kind: type[Strategy],
) -> None:
    """The state is read back from bytes; noise is the same, since words are."""
    differ = 0
    for seed in range(10):
        timeline = random_timeline(seed)
        values = np.random.default_rng(seed).integers(0, 99, size=(timeline.ticks, 3, 1))
        strategy = kind(timeline, 1, 2.0)
        draws = chosen(np.array([0, 2**40, -(2**43)]), np.zeros((3, 1), dtype=np.int64))
        whole = run(strategy, values, draws)
        middle = timeline.ticks // 2
        state = run(strategy, values[:middle], draws).state
        stored = {name: Stored.of(column).load() for name, column in state.items()}
        rest = run(kind(timeline, 1, 2.0), values[middle:], draws, stored)
        assert rest.charged().tolist() == whole.charged()[middle:].tolist()
        assert rest.values.tolist() == whole.values[middle:].tolist()
        anew = strategy.elapse(strategy.start(3), np.full(3, middle))
        forgotten = run(strategy, values[middle:], draws, anew)
        differ += forgotten.charged().tolist() != rest.charged().tolist()
    assert differ > 1, "ledgers matter"


def test_rows_may_be_at_different_ticks() -> None:
    strategy = UnicornPS(PRINTED, 1, 1.0)
    state = strategy.elapse(strategy.start(3), np.array([0, 2, 3]))
    state, releases = strategy.step(state, Inputs(constant(1, rows=3)[0]), simulated(1))
    assert releases.annotations["sensitivity"].tolist() == [0, 10, 32]
    assert releases.annotations["publication_epsilon"].round(3).tolist() == [0.0, 0.5, 0.333]
    assert [content == b"" for content in state["ledgers"]] == [True, False, False]
    assert state["tick"].tolist() == [1, 3, 4]
    assert strategy.elapse(state, np.array([9, 1, -5]))["tick"].tolist() == [9, 3, 4]


def test_policies_change_for_the_ticks_that_know_of_it() -> None:
    evening = Once(Zone("UTC", ((0, 0),)), datetime(1970, 1, 1, 6), datetime(1970, 1, 1, 9))
    change = Change("home", 3, None, Policy("sauna", evening, 1, (600,))).to_bytes()
    strategy = UnicornPS(HOUSEHOLD, 1, 1.0)
    before = run(strategy, constant(3, rows=2), simulated(1)).state
    after = strategy.after_change(before, change)
    assert before["changes"].tolist() == [b"", b""]
    expected = HOUSEHOLD.changed(b"", change, 3)
    assert after["changes"].tolist() == [expected, expected] != [b"", b""]
    changed = run(strategy, constant(8, rows=2), simulated(1), after).column("sensitivity")
    unchanged = run(strategy, constant(8, rows=2), simulated(1), before).column("sensitivity")
    assert changed[:, 0].tolist() == [220, 220, 220, 600, 650, 650, 50, 0]
    assert unchanged[:, 0].tolist() == [220, 220, 220, 0, 50, 50, 50, 0]


AVERAGED = FixedTimeline(
    (
        (Occurrence(2, 9, (4000, 9000)), Occurrence(6, 8, (20_000,)), Occurrence(14, 16, (500,))),
        (Occurrence(8, 14, (3000, 3000, 3000)),),
    ),
    30_000,
)


def reference_budgets(timeline: FixedTimeline) -> list[float]:
    """Algorithm 3 in doubles, for an epsilon of 1 and samples at all ticks; 0: irrelevant."""
    charges: list[float] = []
    for tick in range(timeline.ticks):
        proposals = []
        for interval in timeline.relevance(tick, b"").intervals:
            top = sorted(charges[interval.start :], reverse=True)[: interval.affected]
            headroom = 1 - sum(top) + (top[-1] if len(top) == interval.affected else 0)
            left = interval.end - tick + 1
            proposals.append(min(max(1 / interval.affected, headroom / left), headroom))
        charges.append(min(proposals, default=0.0))
    return charges


def test_mean_errors_are_the_means_of_the_scales() -> None:
    """The mean over all ticks of D / epsilon_t, 0 at exact ones, within 3 percent; which are more
    than 4 standard errors of a mean of so many Laplace numbers."""
    rows, window = 3000, AVERAGED.longest
    relevances = [AVERAGED.relevance(tick, b"") for tick in range(AVERAGED.ticks)]
    sensitivity = np.array([one.sensitivity for one in relevances], dtype=float)
    relevant = sensitivity > 0
    deltas = [max((j.affected for j in one.intervals), default=0) for one in relevances]
    largest = AVERAGED.largest_sensitivity
    budgets = np.where(relevant, reference_budgets(AVERAGED), 1.0)
    for strategy, scales in (
        (Uniform(1, window, 1.0, largest), np.full(len(relevances), largest * window)),
        (TSUniform(AVERAGED, 1, 1.0, window=window, irrelevant="exact"), sensitivity * window),
        (TINARUniform(AVERAGED, 1, 1.0, irrelevant="exact"), largest * np.array(deltas)),
        (UnicornPS(AVERAGED, 1, 1.0, irrelevant="exact"), sensitivity / budgets),
    ):
        values = constant(AVERAGED.ticks, 10**6, rows)
        state, draws, errors = strategy.start(rows), simulated(7), []
        for truth in values:
            state, releases = strategy.step(state, Inputs(truth), draws)
            errors.append(np.abs(releases.values - truth).mean())
        standard_error = sqrt((scales.astype(float) ** 2).sum() / rows) / len(scales)
        assert 4 * standard_error < 0.03 * scales.mean()
        assert np.mean(errors) == pytest.approx(scales.mean(), rel=0.03)
        assert (np.array(errors)[scales == 0] == 0).all()


def test_before_anything_is_published_zeros_are_and_no_error_is_told() -> None:
    [released] = run(UnicornIS(PRINTED, 2, 1.0), np.full((1, 1, 2), 9), no_noise()).releases
    assert released.values.tolist() == [[0, 0]]
    assert released.annotations["standard_error"].tolist() == pytest.approx([nan], nan_ok=True)
