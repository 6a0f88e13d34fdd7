"""Totals that implementation 1 began go on exactly where their law is today's."""

import pytest

from fugu.operators.personal_cap import PersonalCap
from fugu.operators.totals.running_total import RunningTotal
from fugu.operators.upgrades.former_laws import former_implementation, former_law_digest
from fugu.operators.upgrades.running_total_laws import how_to_finish, mixed_law_digest

MADE_BY_IMPLEMENTATION_1 = [
    (
        RunningTotal(3, 2, 2, 1.0, 1e-6, horizon=312, window=24),
        "997bb6e1208f59e55ed4f374e3deb1da2e4e2e1797613489d469ed415f415a88",
    ),
    (
        RunningTotal(3, 2, 2, 1.0, 1e-6, horizon=100, window=30),
        "c60865b7c632d180800b61c3636b1449ad6e28d0375e7940aab3b32c0d4c954f",
    ),
    (
        RunningTotal(2, 1, 1, 3.0, 1e-6, personal_cap=PersonalCap(3, 48), tick_milliseconds=1000),
        "bfb5da0f527536374991220823b226f420baaf609045da9c3727326ca8087dd0",
    ),
]
UNMIXED_NOW = [
    (
        RunningTotal(3, 2, 2, 1.0, 1e-6, horizon=12),
        "4cff9b3df18077db79e8c5969956ce1c30bee53101f0bc2b42d6b2a0045aae3c",
        "until its horizon of 12 ticks is over",
    ),
    (
        RunningTotal(2, 1, 1, 3.0, 1e-6, personal_cap=PersonalCap(40, 48), tick_milliseconds=1000),
        "26c84398536198dbd69a148d056f44e29b196850f3dde615b823992e1f8455ee",
        "until a period of operator.contributions ends",
    ),
]


@pytest.mark.parametrize(("totals", "digest"), MADE_BY_IMPLEMENTATION_1)
def test_laws_of_implementation_1_are_recognised(totals: RunningTotal, digest: str) -> None:
    assert former_implementation(totals) == 1
    assert former_law_digest(totals).hex() == digest


@pytest.mark.parametrize(("totals", "digest", "until"), UNMIXED_NOW)
def test_totals_that_are_not_mixed_any_more_are_recognised_and_finished(
    totals: RunningTotal, digest: str, until: str
) -> None:
    assert former_law_digest(totals) == totals.law_digest()
    mixed = mixed_law_digest(totals)
    assert mixed is not None
    assert mixed.hex() == digest
    assert until in how_to_finish(totals)
