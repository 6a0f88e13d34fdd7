"""Whoever restarts `fugu run` learns from its exit code whether that would help."""

import pytest

from fugu.dataflows.base.errors import (
    NO_RESTART_HELPS,
    BudgetExhausted,
    ConfigurationError,
    DeliveryFailed,
    FuguError,
    KafkaUnavailable,
    ReleaseMismatch,
    StartContended,
    StartRefused,
    StateInUse,
    exit_code,
)


@pytest.mark.parametrize(
    "error", [BudgetExhausted, ConfigurationError, StartRefused, ReleaseMismatch]
)
def test_what_somebody_must_change_first(error: type[FuguError]) -> None:
    assert exit_code(error("text")) == NO_RESTART_HELPS == 78


@pytest.mark.parametrize(
    "error", [FuguError, KafkaUnavailable, DeliveryFailed, StateInUse, StartContended]
)
def test_what_may_be_over_at_the_next_start(error: type[FuguError]) -> None:
    assert exit_code(error("text")) == 1
