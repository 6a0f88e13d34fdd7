"""A record of the topic of policies that raises an exception is a dead letter, and no more."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from fugu.dataflows.base.batches import Batch, Header, Reason
from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.base.metrics import DEAD_LETTERS, Metrics
from fugu.dataflows.flows.policies import PoliciesPlan
from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.signatures import Signatures
from fugu.operators.swellfish.changes import AnyChange
from tests.dataflows.policies.documents import EXAMPLE
from tests.dataflows.state.fingerprints import FINGERPRINT

CANARY = "canary-90aa"


@dataclass(frozen=True)
class Unlucky(Signatures):
    """Cannot read the record of one key."""

    error: Exception = field(default_factory=lambda: ZeroDivisionError(CANARY))

    def read(
        self, key: bytes | None, value: bytes | None, headers: Sequence[Header], timestamp: int
    ) -> AnyChange:
        if key == b"household/defect":
            raise self.error
        return super().read(key, value, headers, timestamp)


def plan_of(signatures: Signatures) -> PoliciesPlan:
    """A plan, as far as records are read by it."""
    plan = object.__new__(PoliciesPlan)
    for name, part in {
        "signatures": signatures,
        "fingerprint": FINGERPRINT,
        "metrics": Metrics(),
    }.items():
        object.__setattr__(plan, name, part)
    return plan


def batch() -> Batch:
    keys: list[bytes | None] = [b"household/shower", b"household/defect", b"?", b"household/stove"]
    return Batch(0, [5, 6, 7, 8], [1] * 4, keys, [None] * 4, [[]] * 4)


def test_its_neighbours_are_read_and_the_log_names_its_place(
    caplog: pytest.LogCaptureFixture,
) -> None:
    plan = plan_of(Unlucky(PolicyDocument.read(EXAMPLE), "policies"))
    with caplog.at_level(logging.WARNING):
        changes = plan.changes_of(batch())
    assert changes.offsets == [5, 8]
    assert changes.dead.offsets == [6, 7]
    assert changes.dead.reasons == [Reason.UNREADABLE, Reason.BAD_POLICY]
    assert changes.dead.fields[0] == "ZeroDivisionError"
    assert plan.metrics.values(DEAD_LETTERS)["vitals.raw", "0", "unreadable"] == 1
    assert "topic vitals.raw, partition 0, offset 6: unexpected ZeroDivisionError" in caplog.text
    assert CANARY not in caplog.text


def test_what_concerns_all_records_is_raised() -> None:
    away = KafkaUnavailable("Kafka is away")
    plan = plan_of(Unlucky(PolicyDocument.read(EXAMPLE), "policies", error=away))
    with pytest.raises(KafkaUnavailable):
        plan.changes_of(batch())
