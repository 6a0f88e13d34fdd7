"""Add up what promises let out together: exactly, in time, or with a refusal."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp, inf
from typing import Any, get_args

import pytest

from fugu.operators.budget_units import in_nats, units_of
from fugu.operators.composition.spend import NotAddable, Spend
from fugu.operators.composition.sums import add, windows_of
from fugu.operators.guarantee import CONTRIBUTIONS, PRESENCE, Guarantee, Notion
from fugu.operators.sip.guarantees import crr_guarantees

SIP, LDP = (
    replace(guarantee, finite_precision_delta=1e-15) for guarantee in crr_guarantees(epsilon=0.3)
)


def test_a_spend_is_the_promise_in_exact_numbers() -> None:
    spend = Spend.of(replace(LDP, delta=1e-7))
    assert spend.epsilon == units_of(0.6)
    assert spend.delta >= Fraction(1e-7) + Fraction(LDP.finite_precision_delta)
    assert float(spend.delta) == pytest.approx(1e-7 + LDP.finite_precision_delta, rel=1e-15)
    assert (spend.notion, spend.per, spend.window, spend.count) == ("ldp", "release", None, 1)


def test_epsilons_and_deltas_add_up_exactly_in_any_order() -> None:
    parts = [Spend.of(replace(LDP, epsilon=e, delta=d)) for e, d in [(0.1, 1e-9), (7, 0), (3, 0.1)]]
    total = add(parts)
    assert total.epsilon == units_of(0.1) + units_of(7) + units_of(3)
    assert total.delta == sum(part.delta for part in parts)
    assert total.delta > Fraction(1e-9) + Fraction(0.1)
    assert total.count == 3
    assert total == add([add(parts[1:]), parts[0]]) == add(parts[::-1])


def test_where_no_delta_below_one_is_left_there_is_no_sum() -> None:
    likely = Spend.of(replace(LDP, delta=0.5))
    with pytest.raises(NotAddable, match="together no delta below 1 is left"):
        add([likely, likely])


def test_one_promise_is_its_own_sum_whatever_it_promises() -> None:
    assert add([Spend.of(SIP)]) == Spend.of(SIP)


def test_nothing_has_no_sum() -> None:
    with pytest.raises(ValueError, match="at least one"):
        add([])


@pytest.mark.parametrize("notion", get_args(Notion))
def test_every_notion_adds_up_or_says_what_to_do_instead(notion: Notion) -> None:
    guarantee = replace(LDP, notion=notion)
    if notion in ("ldp", "dp", "w-event-ldp", "w-event-dp"):
        spend = Spend.of(guarantee)
        assert add([spend, spend]).epsilon == 2 * spend.epsilon
    else:
        with pytest.raises(NotAddable, match=rf"{notion}.*\. [A-Z]"):
            add([Spend.of(guarantee), Spend.of(guarantee)])


def test_sip_figures_send_to_the_figure_without_a_model() -> None:
    with pytest.raises(NotAddable, match=r"not even under one model.*without a model"):
        add([Spend.of(SIP), Spend.of(SIP)])


def test_different_notions_do_not_add_up() -> None:
    with pytest.raises(NotAddable, match="ldp and dp are different promises"):
        add([Spend.of(LDP), Spend.of(replace(LDP, notion="dp"))])


def test_a_figure_per_release_and_one_per_stream_do_not_add_up() -> None:
    total = replace(LDP, per="stream")
    with pytest.raises(NotAddable, match=r"per release and one per stream.*total"):
        add([Spend.of(LDP), Spend.of(total)])
    assert add([Spend.of(total), Spend.of(total)]).per == "stream"


def test_a_sum_with_a_batch_is_about_one_record_of_it() -> None:
    """The other pipeline releases the records of a batch one by one: together they cost more."""
    batch = Spend.of(replace(LDP, records=10))
    both = add([batch, Spend.of(LDP)])
    assert both.records == 10
    assert both.epsilon == 2 * units_of(0.6)


QUARTER, HOUR, DAY = 15 * 60_000, 3_600_000, 24 * 3_600_000


def windows(
    ticks: int, width: int | None, epsilon: float = 1.0, delta: float = 0.0, **more: Any
) -> Spend:
    """Return the spend of a pipeline with a budget for any so many ticks."""
    told: dict[str, Any] = {"neighbours": CONTRIBUTIONS, "tick_by_tick": True, **more}
    promise = replace(
        LDP,
        notion="w-event-dp",
        epsilon=epsilon,
        delta=delta,
        finite_precision_delta=0.0,
        per="window",
        window=ticks,
        tick_milliseconds=width,
    )
    return Spend.of(replace(promise, **told))


def test_ten_days_meet_96_windows_of_ten_quarters_of_an_hour() -> None:
    quarters, days = windows(10, QUARTER, delta=1e-9), windows(10, DAY, delta=1e-6)
    together = add([quarters, days])
    assert in_nats(together.epsilon) == 97.0
    assert together.delta == 96 * Fraction(1e-9) + Fraction(1e-6)
    assert (together.window, together.tick_milliseconds) == (10, DAY)
    assert windows_of([quarters, days]) == [96, 1]


def test_ticks_that_do_not_fit_into_each_other_meet_one_more() -> None:
    """A week begins anywhere within 100 hours."""
    hundred_hours, week = windows(1, 100 * HOUR), windows(1, 7 * DAY)
    assert windows_of([hundred_hours, week]) == [3, 1]
    assert in_nats(add([hundred_hours, week]).epsilon) == 4.0


def test_windows_of_the_same_ticks_add_up_as_they_are() -> None:
    together = add([windows(10, DAY), windows(10, DAY, 0.5)])
    assert (in_nats(together.epsilon), together.per, together.window) == (1.5, "window", 10)


def test_windows_whose_ticks_have_no_length_have_no_sum() -> None:
    """Nor have two that count as many of them."""
    for other in (windows(10, None), windows(10, DAY), windows(3, None)):
        with pytest.raises(NotAddable, match="length in time is not known"):
            add([windows(10, None), other])
    assert add([windows(10, None)]) == windows(10, None)


@pytest.mark.parametrize(("ticks", "width"), [(1, 2), (3, 1), (2, 3), (4, 2)])
@pytest.mark.parametrize(("longer", "wider"), [(2, 7), (3, 4), (1, 24)])
def test_no_way_to_spend_exceeds_the_sum_and_one_reaches_it(
    ticks: int, width: int, longer: int, wider: int
) -> None:
    """Every stretch of the longer window, and every way to spend all of a shorter one at once."""
    both = add([windows(ticks, width), windows(longer, wider)])
    spent = []
    for begin, phase in product(range(0, wider * width, wider), range(ticks)):
        met = {time // width for time in range(begin, begin + longer * wider)}
        spent.append(sum(1 for tick in met if tick % ticks == phase))
    assert in_nats(both.epsilon) == max(spent) + 1


def test_where_windows_do_not_stand_alone_deltas_grow_with_every_change_before() -> None:
    apart = windows(1, HOUR, epsilon=0.5, delta=1e-6, tick_by_tick=False)
    together = add([apart, windows(3, HOUR)])
    assert in_nats(together.epsilon) == 2.5
    expected = 1e-6 * (1.0 + exp(0.5) + exp(1.0))
    assert float(together.delta) == pytest.approx(expected, rel=1e-12)
    assert not together.tick_by_tick


def test_an_aligned_period_is_met_twice_by_a_window_of_as_many_ticks() -> None:
    period = windows(10, DAY, per="period")
    assert windows_of([period, windows(10, DAY)]) == [2, 1]
    assert add([period, period]).per == "period"


def test_a_promise_about_a_whole_stream_holds_for_every_window() -> None:
    whole = windows(1, None, 3.0, notion="dp", per="stream", window=None)
    together = add([whole, windows(7, HOUR)])
    assert (in_nats(together.epsilon), together.notion) == (4.0, "w-event-dp")
    assert (together.per, together.window) == ("window", 7)


def test_a_promise_about_presence_costs_twice_where_contributions_are_replaced() -> None:
    """And (1 + e^epsilon) delta, for a contribution is taken away before another one is put."""
    coming = windows(5, HOUR, 0.5, 1e-6, neighbours=PRESENCE)
    together = add([coming, windows(5, HOUR)])
    assert in_nats(together.epsilon) == 2.0
    assert float(together.delta) == pytest.approx(1e-6 * (1.0 + exp(0.5)), rel=1e-12)
    assert together.neighbours == CONTRIBUTIONS
    alike = add([coming, coming])
    assert (in_nats(alike.epsilon), alike.neighbours) == (1.0, PRESENCE)


def test_promises_that_keep_other_things_do_not_add_up() -> None:
    added = windows(5, HOUR, neighbours=replace(CONTRIBUTIONS, kept=("timestamp",)))
    with pytest.raises(NotAddable, match="neighbours differ in other things"):
        add([added, windows(5, HOUR)])


@pytest.mark.parametrize("nothing", [replace(LDP, epsilon=inf), replace(LDP, sound=False)])
def test_a_promise_without_a_bound_has_no_sum(nothing: Guarantee) -> None:
    with pytest.raises(NotAddable, match="without a bound"):
        Spend.of(nothing)


def test_a_delta_per_release_grows_as_a_delta_does() -> None:
    """To replace a contribution is to take one away and to add another one."""
    promise = replace(
        LDP, notion="dp", epsilon=3.0, per="stream", neighbours=PRESENCE, finite_precision_delta=0.0
    )
    other = Spend.of(replace(promise, neighbours=CONTRIBUTIONS))
    stated = add([Spend.of(replace(promise, delta=1e-9)), other])
    each = add([Spend.of(replace(promise, delta_per_release=1e-9)), other])
    assert each.delta_per_release == stated.delta > Fraction(2e-8)
