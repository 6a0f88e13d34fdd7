"""Check what all pipelines over a source may add up to, before another one starts."""

from dataclasses import replace

import pytest

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.pipeline.source_budget import Promises, check, declared_budgets, sums
from fugu.dataflows.pipeline.source_section import DeclaredBudget
from fugu.operators.budget import Budgeted
from fugu.operators.budget_units import in_nats
from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import Mechanism
from fugu.operators.personal_cap import PersonalCap
from fugu.operators.realtime.real_time_release import RealTimeRelease
from fugu.operators.sip.conditional_randomized_response import PaperConditionalRandomizedResponse
from fugu.operators.wevent.spread_strategies import Uniform
from tests.conformance.kinds import KINDS
from tests.dataflows.stages.columns import CRR

ROUNDING = 1e-6


def promised(
    pipeline: str,
    mechanism: Mechanism,
    epsilon: float | None = None,
    delta: float | None = None,
) -> Promises:
    """Return what a pipeline with this mechanism promises, and the budget that it declares."""
    budget = None if epsilon is None else DeclaredBudget(epsilon, delta)
    return Promises(pipeline, mechanism.guarantees(), budget)


def zones(budget: float | None = None) -> Promises:
    """1 nat per release, 2 without a model."""
    return promised("zones", CRR, budget)


def moods(budget: float | None = None) -> Promises:
    """As much again, under another name."""
    return promised("moods", CRR, budget)


def total(nats: float, budget: float | None = None) -> Promises:
    """`nats` over a stream's life, twice as much without a model."""
    return promised(f"total-{nats:g}", Budgeted(CRR, nats), budget)


def changed(promises: Promises, **changes: object) -> Promises:
    """The same pipeline, with every guarantee changed."""
    guarantees: list[Guarantee] = [
        replace(guarantee, **changes)  # type: ignore[arg-type]
        for guarantee in promises.guarantees
    ]
    return replace(promises, guarantees=tuple(guarantees))


def test_figures_without_a_model_have_a_sum_and_sip_figures_have_a_reason() -> None:
    sip, ldp = sums([zones(), moods()])
    assert (sip.notion, ldp.notion) == ("sip", "ldp")
    assert sip.total is None
    assert "not even under one model" in (sip.why_not or "")
    assert ldp.total is not None
    assert in_nats(ldp.total.epsilon) == pytest.approx(4.0, rel=ROUNDING)
    assert ldp.why_not is None


def test_pipelines_of_different_kinds_add_up_in_the_figure_they_share() -> None:
    laplace = KINDS["laplace"].examples()[0].mechanism
    sip, ldp = sums([zones(), Promises("beats", laplace.guarantees())])
    assert "beats states no figure of Sequence Information Privacy" in (sip.why_not or "")
    assert ldp.total is not None
    assert in_nats(ldp.total.epsilon) == pytest.approx(3.0, rel=ROUNDING)


def test_every_declared_budget_counts_once() -> None:
    declared = declared_budgets([zones(), moods(7.0), total(1.0, 3.0), zones(7.0)])
    assert declared == [DeclaredBudget(7.0), DeclaredBudget(3.0)]
    assert declared_budgets([zones(), moods()]) == []
    check("vitals", [zones(4.0), moods(7.0)])
    for tight in ([zones(3.0), moods(7.0)], [zones(7.0), moods(3.0)]):
        with pytest.raises(StartRefused, match="is 3 nats per release"):
            check("vitals", tight)


def test_without_a_budget_nothing_is_refused() -> None:
    check("vitals", [zones(), total(3.0)])
    check("vitals", [])


def test_a_budget_per_release_is_spent_exactly() -> None:
    check("vitals", [zones(), moods(4.0)])
    with pytest.raises(StartRefused) as refused:
        check("vitals", [zones(), moods(3.999)])
    says = str(refused.value)
    assert "source.budget of vitals is 3.999 nats per release" in says
    assert "come to 4 nats" in says
    assert ": 2 (zones) + 2 (moods). " in says
    assert "Lower epsilon or budget.total" in says


def test_a_sum_with_batches_is_stated_about_one_record() -> None:
    """To exchange a whole batch would change several releases of the other pipeline."""
    batches = promised("batches", KINDS["batched_crr"].examples()[0].mechanism)
    _, alone = sums([batches])
    _, both = sums([batches, zones()])
    assert "per release" in alone.in_words
    assert "per record, which is in one release of every pipeline" in both.in_words


def test_a_budget_per_stream_is_spent_exactly() -> None:
    check("vitals", [total(200.0, 800.0), total(200.0)])
    with pytest.raises(StartRefused, match=r"per stream, over its whole life.*come to 802 nats"):
        check("vitals", [total(200.0, 800.0), total(201.0)])


def test_one_pipeline_can_be_too_much() -> None:
    check("vitals", [zones(2.0)])
    with pytest.raises(StartRefused, match=r"come to 2 nats.*: 2 \(zones\)"):
        check("vitals", [zones(1.0)])


def test_a_refusal_states_the_delta_that_goes_with_the_sum() -> None:
    laplace = KINDS["laplace"].examples()[0].mechanism.guarantees()
    beats = changed(Promises("beats", laplace, DeclaredBudget(1.5)), delta=1e-7)
    with pytest.raises(StartRefused, match=r"come to 2 nats and delta 2\.01e-07 \(.*: 1 \(beats\)"):
        check("vitals", [beats, replace(beats, pipeline="steps")])


def test_windows_of_different_ticks_are_summed_over_a_stretch_of_time_that_is_named() -> None:
    fast = promised("fast", Uniform(1, 10, 1.0, 1, tick_milliseconds=15 * 60_000))
    slow = promised("slow", Uniform(1, 10, 1.0, 1, tick_milliseconds=24 * 3_600_000))
    [together] = sums([fast, slow])
    words = together.in_words
    assert words.startswith("epsilon 97 nats and delta ")
    assert " per window of 10 consecutive ticks of 1 day (10 days)" in words
    assert "which takes so many windows: 96 of fast, 1 of slow (if all pipelines date" in words
    [reason] = sums([fast, promised("undated", Uniform(1, 10, 1.0, 1))])
    assert "no sum: windows of ticks whose length in time is not known" in reason.in_words


def test_a_promise_over_a_whole_stream_is_counted_in_every_window() -> None:
    hour = 3_600_000
    whole = promised(
        "whole", RealTimeRelease(1, 1, 1, 3.0, 1e-6, horizon=100, tick_milliseconds=hour)
    )
    [of_streams, of_windows] = sums(
        [whole, promised("windows", Uniform(1, 10, 1.0, 1, tick_milliseconds=hour))]
    )
    assert "pipeline windows states no figure of Differential Privacy" in (of_streams.why_not or "")
    assert of_windows.total is not None
    assert in_nats(of_windows.total.epsilon) == 4.0
    assert float(of_windows.total.delta) == pytest.approx(1e-6)


def test_a_budget_over_pipelines_with_and_without_a_total_cannot_be_checked() -> None:
    with pytest.raises(StartRefused, match=r"cannot be checked.*Give every pipeline a total"):
        check("vitals", [zones(100.0), total(3.0)])


def test_a_window_limits_the_rate_and_is_counted_per_release() -> None:
    windowed = promised("windowed", Budgeted(CRR, 3.0, window=5), 4.0)
    check("vitals", [windowed, zones()])


def test_a_pipeline_that_promises_nothing_fits_no_budget() -> None:
    baseline = PaperConditionalRandomizedResponse(CRR.model, CRR.epsilon).guarantees()
    with pytest.raises(StartRefused, match=r"cannot be checked: .*pipeline paper states Sequence"):
        check("vitals", [zones(100.0), Promises("paper", baseline)])
    with pytest.raises(StartRefused, match="cannot be checked: ldp: a figure without a bound"):
        check("vitals", [changed(zones(100.0), sound=False)])


def counts(
    pipeline: str,
    epsilon: float,
    delta: float,
    budget: DeclaredBudget | None = None,
) -> Promises:
    """A histogram in real time, with (epsilon, delta) over a whole life."""
    release = RealTimeRelease(2, 1, 2, epsilon, delta, horizon=312)
    return Promises(pipeline, release.guarantees(), budget)


def test_two_pipelines_that_promise_next_to_nothing_are_refused() -> None:
    """No budget of epsilon allows a delta of .9, twice, in which all data may be told."""
    for pipelines in (
        [changed(zones(2.0), delta=0.9, epsilon=0.5), changed(moods(), delta=0.9, epsilon=0.5)],
        [changed(zones(100.0), delta=0.9, epsilon=0.5)],
        [changed(zones(100.0), delta=1.0, epsilon=0.5)],
    ):
        with pytest.raises(StartRefused, match=r"a delta of 1e-05, but|no delta below 1|no sum"):
            check("vitals", pipelines)


def test_a_number_of_nats_allows_a_small_delta_only() -> None:
    check("visits", [counts("a", 3.0, 5e-6, DeclaredBudget(6.0)), counts("b", 3.0, 5e-6)])
    with pytest.raises(StartRefused) as refused:
        check("visits", [counts("a", 3.0, 5e-6, DeclaredBudget(6.0)), counts("b", 3.0, 6e-6)])
    says = str(refused.value)
    assert "is 6 nats, which allows a delta of 1e-05, but the pipelines over it state" in says
    assert "state one of 1.1e-05 together" in says
    assert "declare source.budget: {epsilon: ..., delta: ...}" in says


def test_a_budget_of_epsilon_and_delta_counts_the_composed_epsilon() -> None:
    """Two of 3 nats come to less than 4.3."""
    allowed = DeclaredBudget(4.3, 2e-6)
    check("visits", [counts("a", 3.0, 1e-6, allowed), counts("b", 3.0, 1e-6)])
    with pytest.raises(StartRefused, match=r"come to .* by the exact account of Gaussian noise"):
        check(
            "visits",
            [counts("a", 3.0, 1e-6, allowed), counts("b", 3.0, 1e-6), counts("c", 3.0, 1e-6)],
        )


def test_a_smaller_delta_than_pipelines_state_takes_a_larger_epsilon() -> None:
    pair = [counts("a", 1.0, 1e-6), counts("b", 1.0, 1e-6)]
    epsilons = []
    for delta in (1e-5, 2e-6, 1e-9):
        tight = DeclaredBudget(0.1, delta)
        with pytest.raises(StartRefused, match="come to") as refused:
            check("visits", [replace(pair[0], source_budget=tight), pair[1]])
        epsilons.append(float(str(refused.value).split("come to ")[1].split()[0]))
    assert epsilons == sorted(epsilons)
    assert epsilons[0] < 1.4 < epsilons[2]


def test_a_delta_below_what_finite_precision_takes_is_refused() -> None:
    beats = changed(zones(), finite_precision_delta=1e-9)
    with pytest.raises(StartRefused, match="which allows a delta of 1e-10"):
        check("vitals", [replace(beats, source_budget=DeclaredBudget(9.0, 1e-10))])


def test_pure_figures_gain_by_a_declared_delta() -> None:
    """Compose 50 releases of .1 nats optimally; without a delta epsilons add."""
    small = changed(zones(), epsilon=0.1, finite_precision_delta=0.0)
    many = [replace(small, pipeline=f"p{number}") for number in range(50)]
    pair = [replace(many[0], source_budget=DeclaredBudget(3.3, 1e-5)), *many[1:]]
    check("vitals", pair)
    with pytest.raises(StartRefused, match=r"come to 5 nats.*by adding epsilons"):
        check("vitals", [replace(many[0], source_budget=DeclaredBudget(3.3)), *many[1:]])


def test_a_limit_of_a_life_does_not_become_one_of_windows_unawares() -> None:
    hour = 3_600_000
    life = RealTimeRelease(1, 1, 1, epsilon=1.0, delta=1e-7, horizon=10, tick_milliseconds=hour)
    windows = promised("windows", Uniform(1, 10, 1.0, 1, tick_milliseconds=hour))
    for budget, refused in [
        (DeclaredBudget(5.0), True),
        (DeclaredBudget(5.0, 1e-6), True),
        (DeclaredBudget(5.0, 1e-6, "window"), False),
    ]:
        declaring = replace(promised("life", life), source_budget=budget)
        check("visits", [declaring])
        if not refused:
            check("visits", [declaring, windows])
            continue
        with pytest.raises(StartRefused, match=r"which limits no life\. .* per: window}"):
            check("visits", [declaring, windows])
    check("visits", [promised("life", life), replace(windows, source_budget=DeclaredBudget(5.0))])


def test_an_aligned_period_counts_twice_in_a_budget_of_windows() -> None:
    """A window as long as a period meets two periods, so one pipeline alone costs twice."""
    capped = Uniform(1, 2, 1.0, 2, tick_milliseconds=3_600_000, personal_cap=PersonalCap(2, 24))
    alone = promised("capped", capped)
    check("visits", [replace(alone, source_budget=DeclaredBudget(1.0, 1e-6))])
    check("visits", [replace(alone, source_budget=DeclaredBudget(2.0, 1e-6, "window"))])
    with pytest.raises(StartRefused, match=r"per window of 24 .* come to 1.9998"):
        check("visits", [replace(alone, source_budget=DeclaredBudget(1.9, 1e-6, "window"))])


def test_windows_of_aggregates_have_a_budget_of_windows() -> None:
    hour = 3_600_000
    pair = [
        promised("one", Uniform(1, 10, 1.0, 1, tick_milliseconds=hour), budget)
        for budget in (2, None)
    ]
    check("visits", pair)
    with pytest.raises(
        StartRefused, match=r"is 1\.9 nats per window of 10 consecutive ticks of 1 h"
    ):
        check("visits", [replace(pair[0], source_budget=DeclaredBudget(1.9)), pair[1]])


def test_what_one_stream_says_and_what_one_person_contributes_are_not_compared() -> None:
    with pytest.raises(StartRefused) as refused:
        check("visits", [zones(100.0), counts("counts", 3.0, 1e-6)])
    says = str(refused.value)
    assert "pipeline zones states Sequence Information Privacy and Local" in says
    assert "pipeline counts states Differential Privacy" in says
    assert "from a source of its own, or without source.budget" in says


def test_the_sum_says_which_account_gave_it() -> None:
    [together] = sums([counts("a", 3.0, 1e-6), counts("b", 3.0, 1e-6)])
    assert together.in_words.endswith("by the exact account of Gaussian noise with pure losses")
    _, together = sums([zones(), moods()])
    assert together.in_words.endswith("by adding epsilons")
    [alone] = sums([counts("a", 3.0, 1e-6)])
    assert alone.in_words == "epsilon 3 nats and delta 1e-06 per stream, over its whole life"
