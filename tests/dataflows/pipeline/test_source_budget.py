"""What all pipelines over a source may add up to, checked before another one starts."""

from dataclasses import replace

import pytest

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.pipeline.source_budget import Promises, check, smallest_budget, sums
from fugu.operators.budget import Budgeted
from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import Guarantee, Mechanism
from fugu.operators.realtime.real_time_release import RealTimeRelease
from fugu.operators.sip.paper_conditional_randomized_response import (
    PaperConditionalRandomizedResponse,
)
from fugu.operators.wevent.uniform import Uniform
from tests.conformance.kinds import KINDS
from tests.dataflows.stages.columns import CRR

ROUNDING = 1e-6


def zones(budget: float | None = None) -> Promises:
    """1 nat per release, 2 without a model."""
    return Promises("zones", CRR.guarantees(), budget)


def moods(budget: float | None = None) -> Promises:
    """As much again, under another name."""
    return Promises("moods", CRR.guarantees(), budget)


def total(nats: float, budget: float | None = None) -> Promises:
    """`nats` over a stream's life, twice as much without a model."""
    return Promises(f"total-{nats:g}", Budgeted(CRR, nats).guarantees(), budget)


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
    assert "beats states no sip figure" in (sip.why_not or "")
    assert ldp.total is not None
    assert in_nats(ldp.total.epsilon) == pytest.approx(3.0, rel=ROUNDING)


def test_the_smallest_declared_budget_counts() -> None:
    assert smallest_budget([zones(), moods(7.0), total(1.0, 3.0)]) == 3.0
    assert smallest_budget([zones(), moods()]) is None


def test_without_a_budget_nothing_is_refused() -> None:
    check("vitals", [zones(), total(3.0)])
    check("vitals", [])


def test_a_budget_per_release_is_spent_exactly() -> None:
    check("vitals", [zones(), moods(4.0)])
    with pytest.raises(StartRefused) as refused:
        check("vitals", [zones(), moods(3.999)])
    says = str(refused.value)
    assert "source.budget of vitals is 3.999 nats per release" in says
    assert "add up to 4 nats" in says
    assert ": 2 (zones) + 2 (moods). " in says
    assert "Lower epsilon or budget.total" in says


def test_a_budget_per_stream_is_spent_exactly() -> None:
    check("vitals", [total(200.0, 800.0), total(200.0)])
    with pytest.raises(StartRefused, match=r"per stream, over its whole life.*add up to 802 nats"):
        check("vitals", [total(200.0, 800.0), total(201.0)])


def test_one_pipeline_can_be_too_much() -> None:
    check("vitals", [zones(2.0)])
    with pytest.raises(StartRefused, match=r"add up to 2 nats.*: 2 \(zones\)"):
        check("vitals", [zones(1.0)])


def test_a_refusal_states_the_delta_that_goes_with_the_sum() -> None:
    laplace = KINDS["laplace"].examples()[0].mechanism.guarantees()
    beats = changed(Promises("beats", laplace, 1.5), delta=1e-7)
    with pytest.raises(StartRefused, match=r"add up to 2 nats and delta 2\.01e-07: 1 \(beats\)"):
        check("vitals", [beats, replace(beats, pipeline="steps")])


def told(pipeline: str, mechanism: Mechanism) -> Promises:
    """What a pipeline with this mechanism promises."""
    return Promises(pipeline, mechanism.guarantees())


def test_windows_of_different_ticks_are_summed_over_a_stretch_of_time_that_is_named() -> None:
    fast = told("fast", Uniform(1, 10, 1.0, 1, tick_milliseconds=15 * 60_000))
    slow = told("slow", Uniform(1, 10, 1.0, 1, tick_milliseconds=24 * 3_600_000))
    [together] = sums([fast, slow])
    words = together.in_words
    assert words.startswith("epsilon 97 nats and delta ")
    assert " per window of 10 consecutive ticks of 1 day (10 days)" in words
    assert "which takes so many windows: 96 of fast, 1 of slow (if all pipelines date" in words
    [reason] = sums([fast, told("undated", Uniform(1, 10, 1.0, 1))])
    assert "no sum. windows of ticks whose length in time is not known" in reason.in_words


def test_a_promise_over_a_whole_stream_is_counted_in_every_window() -> None:
    hour = 3_600_000
    whole = told("whole", RealTimeRelease(1, 1, 1, 3.0, 1e-6, horizon=100, tick_milliseconds=hour))
    [of_streams, of_windows] = sums(
        [whole, told("windows", Uniform(1, 10, 1.0, 1, tick_milliseconds=hour))]
    )
    assert "pipeline windows states no dp figure" in (of_streams.why_not or "")
    assert of_windows.total is not None
    assert in_nats(of_windows.total.epsilon) == 4.0
    assert float(of_windows.total.delta) == pytest.approx(1e-6)


def test_a_budget_over_pipelines_with_and_without_a_total_cannot_be_checked() -> None:
    with pytest.raises(StartRefused, match=r"cannot be checked.*Give every pipeline a total"):
        check("vitals", [zones(100.0), total(3.0)])


def test_a_window_limits_the_rate_and_is_counted_per_release() -> None:
    windowed = Promises("windowed", Budgeted(CRR, 3.0, window=5).guarantees(), 4.0)
    check("vitals", [windowed, zones()])


def test_a_pipeline_that_promises_nothing_fits_no_budget() -> None:
    baseline = PaperConditionalRandomizedResponse(CRR.model, CRR.epsilon).guarantees()
    with pytest.raises(StartRefused, match="cannot be checked: pipeline paper states no ldp"):
        check("vitals", [zones(100.0), Promises("paper", baseline)])
    with pytest.raises(StartRefused, match="cannot be checked: ldp: a figure without a bound"):
        check("vitals", [changed(zones(100.0), sound=False)])
