"""The audit object, number by number, what is promised and what is warned of."""

from math import log, log2

import pytest

from fugu.operators.temporal.dispatch_law import derived_budget
from fugu.operators.temporal.random_delays import (
    BackwardPerturbation,
    ForwardPerturbation,
    calibrated,
    visible,
)
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation
from fugu.operators.temporal.threshold import ExtendedThresholdPerturbation, ThresholdPerturbation

MECHANISMS: list[TemporalPerturbation] = [
    BackwardPerturbation(k=10, epsilon=5.0),
    ForwardPerturbation(k=10, epsilon=5.0),
    ThresholdPerturbation.for_budget(10, 5.0),
    ExtendedThresholdPerturbation.for_budget(10, 2.0),
]
KEYS = [
    "mechanism",
    "k",
    "c0",
    "a",
    "eps_nominal",
    "eps_delay_law",
    "joint_bound_distinct",
    "literal_tldp",
    "delay_law",
    "mean_delay",
    "entropy_bits",
    "max_posterior_exchangeable",
    "law_only",
    "impossible_share",
    "expected",
    "warmup",
    "cooldown",
    "caveats",
]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_audit_has_all_keys_and_claims_no_literal_tldp(mechanism: TemporalPerturbation) -> None:
    audit = mechanism.audit()
    assert list(audit) == KEYS
    assert audit["literal_tldp"] is False
    assert audit["mechanism"] == mechanism.kind
    law = audit["delay_law"]
    assert isinstance(law, list)
    assert len(law) == mechanism.k
    assert sum(law) == pytest.approx(1.0)
    assert audit["law_only"] == max(law)
    assert audit["eps_delay_law"] == mechanism.guarantees()[0].epsilon
    assert audit["eps_delay_law"] == pytest.approx(2.0 * log(max(law) / min(law)), abs=1e-9)
    expected = audit["expected"]
    assert isinstance(expected, dict)
    assert list(expected) == ["missing", "repeated", "empty", "delay"]


def test_the_audit_of_a_threshold_mechanism_has_the_printed_numbers() -> None:
    audit = ThresholdPerturbation.for_budget(10, 5.0).audit()
    law = audit["delay_law"]
    assert isinstance(law, list)
    printed = {
        "c0": 7,
        "a": 1.0,
        "eps_nominal": 5.0,
        "eps_delay_law": 4.595,
        "max_posterior_exchangeable": 0.45,
        "entropy_bits": 2.724,
        "joint_bound_distinct": 1.946,
        "mean_delay": 3.0,
    }
    assert {name: audit[name] for name in printed} == pytest.approx(printed, abs=5e-4)
    assert [law[0], law[1], law[9]] == pytest.approx([0.45, 0.0452, 0.0786], abs=5e-5)
    assert round(log2(10), 3) == 3.322
    assert audit["warmup"] == {
        "ticks": 9,
        "published": False,
        "start": "stationary",
        "values_lost_at_most": 6,
    }
    assert audit["cooldown"] == {"ticks": 3, "pending": 3}


@pytest.mark.parametrize(("k", "nominal", "seen"), [(10, 1.0, 2.91), (20, 5.0, 7.16)])
def test_the_visible_budget_of_forward_perturbation_is_the_printed_one(
    k: int, nominal: float, seen: float
) -> None:
    forward = ForwardPerturbation(k=k, epsilon=nominal, calibrate="nominal")
    assert forward.delay_law_epsilon == pytest.approx(seen, abs=5e-3)
    assert forward.audit()["eps_nominal"] == nominal
    assert any(f"{forward.delay_law_epsilon:.4g} nats" in text for text in forward.warnings)


@pytest.mark.parametrize(("k", "seen", "internal"), [(10, 4.0, 2.0424), (20, 5.0, 3.0094)])
def test_forward_perturbation_can_be_calibrated_to_what_is_seen(
    k: int, seen: float, internal: float
) -> None:
    forward = ForwardPerturbation(k=k, epsilon=seen)
    assert forward.internal_epsilon == pytest.approx(internal, abs=5e-5)
    assert seen - 1e-9 < forward.delay_law_epsilon <= seen


@pytest.mark.parametrize(("k", "limit"), [(3, 1.62), (10, 1.90), (1000, 2.0)])
def test_no_choice_makes_what_is_seen_smaller_than_a_limit(k: int, limit: float) -> None:
    exact = 2.0 * (k - 1) * log(k / (k - 1))
    assert exact == pytest.approx(limit, abs=5e-3)
    assert visible(k, 1e-9) == pytest.approx(exact, abs=1e-6)
    with pytest.raises(ValueError, match=r"^epsilon: .* whatever the choice has"):
        ForwardPerturbation(k=k, epsilon=exact - 1e-6)
    assert calibrated(k, exact + 1e-3) > 0.0


def test_promises_list_what_they_do_not_cover() -> None:
    for mechanism in MECHANISMS:
        [promise] = mechanism.guarantees()
        audit = mechanism.audit()
        assert promise.notion == "delay-law"
        caveats = audit["caveats"]
        assert isinstance(caveats, list)
        assert caveats == [*map(str, promise.not_covered), *mechanism.warnings]
        said = " ".join(map(str, promise.not_covered))
        for open_point in (
            "monotone series",
            "sequence number",
            "the values themselves",
            "a second release",
            "warm-up",
            "change places",
        ):
            assert open_point in said
        cools_down = audit["cooldown"] != {"ticks": 0}
        assert ("cool-down" in said) == cools_down
        assert ("cool-down" in str(promise.assumptions[0])) == cools_down
        assert promise.finite_precision_delta < 1e-6
    assert "dropped" in " ".join(map(str, MECHANISMS[3].guarantees()[0].not_covered))


def test_published_warm_up_is_named_as_open() -> None:
    emitted = ThresholdPerturbation(k=10, c0=7, warm_up="emit").guarantees()[0]
    assert "a first release is the first value" in " ".join(map(str, emitted.not_covered))


def test_whoever_configures_is_warned() -> None:
    assert ThresholdPerturbation.for_budget(10, 5.0).warnings == ()
    [unused] = ThresholdPerturbation.for_budget(10, 9.0).warnings
    assert f"than {derived_budget(10, 9):.4g}" in unused
    dropped, *_ = ExtendedThresholdPerturbation.for_budget(10, 2.0).warnings
    assert "smaller k is usually the better answer" in dropped
    assert "its k can be 5 at most" in dropped
    [repeated] = BackwardPerturbation(k=10, epsilon=1.0).warnings
    assert "twice" in repeated
    assert len(ForwardPerturbation(k=10, epsilon=4.0).warnings) == 2


@pytest.mark.parametrize("epsilon", [None, 0.5])
def test_an_epsilon_of_0_is_warned_of(epsilon: float | None) -> None:
    """k = 3: each release tick alone says nothing, and possible outputs still change by ln 2."""
    [warning] = ThresholdPerturbation(k=3, c0=2, epsilon=epsilon).warnings[:1]
    assert "can change the likelihood of a possible output by 0.6931 nats" in warning
    assert "more than epsilon" in warning
    for k in (4, 5, 10, 50):
        warnings = [ThresholdPerturbation(k=k, c0=c0).warnings for c0 in range(2, k)]
        assert set(warnings) == {()}
