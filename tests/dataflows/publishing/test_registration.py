"""Bring together what pipelines have entered, source by source."""

from dataclasses import replace

from fugu.dataflows.pipeline.source_budget import Promises
from fugu.dataflows.pipeline.source_section import DeclaredBudget
from fugu.dataflows.publishing.ledger_topic import PipelineEntry
from fugu.dataflows.publishing.registration import EARLIER_WINDOWS, continued, promises_by_source
from fugu.operators.budget import of_window
from fugu.operators.guarantee import GaussianLoss, Guarantee, Point
from fugu.operators.sip.guarantees import crr_guarantees
from tests.conformance.kinds import KINDS

GUARANTEES = KINDS["crr"].examples()[0].mechanism.guarantees()
ENTRY = PipelineEntry("zones", "vitals", "id-1", "out", "out-id", "0123", GUARANTEES, None)


def test_pipelines_over_one_source_are_brought_together_by_name() -> None:
    budget = DeclaredBudget(3.0, 1e-6)
    other = replace(ENTRY, pipeline="moods", source_budget=budget)
    elsewhere = replace(ENTRY, source="beats", source_identity="id-2")
    zones, moods = Promises("zones", GUARANTEES), Promises("moods", GUARANTEES, budget)
    assert promises_by_source([ENTRY, elsewhere, other]) == {
        "vitals": [moods, zones],
        "beats": [zones],
    }


def test_a_topic_that_was_created_anew_is_another_source() -> None:
    anew = replace(ENTRY, source_identity="id-2")
    assert list(promises_by_source([ENTRY, anew])) == ["vitals (id-1)", "vitals (id-2)"]


# An entry that takes the place of an earlier one keeps the deltas of what was released.


SIP, LDP = crr_guarantees(epsilon=1.0)


def entry(guarantee_id: str, *guarantees: Guarantee) -> PipelineEntry:
    return PipelineEntry("p", "s", "s-id", "t", "t-id", guarantee_id, guarantees, None)


def test_the_deltas_of_earlier_releases_stay() -> None:
    earlier = replace(LDP, epsilon=2.1, finite_precision_delta=0.025)
    after = continued(entry("new", SIP, LDP), entry("old", earlier))
    assert (after.guarantees[1].epsilon, after.guarantees[1].finite_precision_delta) == (2.1, 0.025)
    assert after.guarantees[1].total_delta >= 0.025


def test_what_was_promised_for_every_prior_holds_under_a_model_too() -> None:
    """Early releases of grr are in the promise of crr after a migration."""
    earlier = replace(LDP, epsilon=2.1)
    assert continued(entry("new", SIP, LDP), entry("old", earlier)).guarantees[0].epsilon == 2.1


def test_the_next_start_adds_nothing_more() -> None:
    earlier = replace(LDP, finite_precision_delta=0.025)
    first = continued(entry("new", SIP, LDP), entry("old", earlier))
    assert continued(entry("new", SIP, LDP), first) == first


def test_the_same_figures_under_another_id_are_one_promise() -> None:
    """Continue as after a migration to a kind that leaves other points open."""
    own = replace(LDP, finite_precision_delta=0.025)
    earlier = replace(own, trust=Point("seen", "in other words"), not_covered=())
    assert continued(entry("new", own), entry("old", earlier)).guarantees == (own,)


def test_a_loss_that_does_not_cover_earlier_releases_is_not_stated() -> None:
    now, before = (replace(LDP, loss=GaussianLoss(squares, 4)) for squares in (3, 4))
    assert continued(entry("new", now), entry("old", before)).guarantees[0].loss is None
    assert continued(entry("new", now), entry("old", LDP)).guarantees[0].loss is None
    assert continued(entry("new", now), entry("old", now)).guarantees[0].loss == GaussianLoss(3, 4)


def test_a_total_over_a_life_goes_on() -> None:
    now, before = (replace(LDP, per="stream", epsilon=total) for total in (4.0, 6.0))
    assert continued(entry("new", now), entry("old", before)).guarantees[0].epsilon == 4.0


def test_a_first_entry_is_as_it_is() -> None:
    assert continued(entry("new", SIP, LDP), None) == entry("new", SIP, LDP)


def test_a_new_total_over_a_life_keeps_the_deltas_of_single_releases() -> None:
    earlier = replace(LDP, delta_per_release=1e-9)
    total = replace(LDP, per="stream", epsilon=9.0)
    [after] = continued(entry("new", total), entry("old", earlier)).guarantees
    assert (after.epsilon, after.delta_per_release) == (9.0, 1e-9)


def test_a_limit_of_windows_says_that_earlier_releases_may_exceed_it() -> None:
    """A stream that could spend 8 nats in 10 records keeps those records."""
    smaller, larger = (
        entry(str(total), *of_window((LDP,), 10, total, None)) for total in (2.0, 8.0)
    )
    first = entry("none", LDP)
    for before in (larger, first):
        after = continued(smaller, before).guarantees[0]
        assert after.accounting == (*smaller.guarantees[0].accounting, EARLIER_WINDOWS)
    later = continued(smaller, continued(larger, first))
    assert EARLIER_WINDOWS in later.guarantees[0].accounting
    assert continued(smaller, later) == later


def test_the_same_limit_of_windows_goes_on() -> None:
    [limited] = of_window((LDP,), 10, 2.0, None)
    finer = replace(limited, epsilon=0.5)
    after = continued(entry("new", finer), entry("old", limited)).guarantees[0]
    assert after.accounting == limited.accounting


def test_without_a_limit_of_windows_nothing_is_said_about_them() -> None:
    limited = entry("windows", *of_window((LDP,), 10, 2.0, None))
    before = continued(limited, entry("first", LDP))
    assert continued(entry("total", LDP), before).guarantees[0].accounting == LDP.accounting
