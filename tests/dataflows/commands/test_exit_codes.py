"""Whoever restarts `fugu run` learns from its exit code whether that would help."""

import pytest
from kafka.errors import TopicAuthorizationFailedError

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
from fugu.dataflows.kafka.kafka_python_refusals import right_missing


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


def test_a_missing_right_may_be_granted_before_the_next_start() -> None:
    assert exit_code(right_missing("vitals.raw", TopicAuthorizationFailedError)) == 1
