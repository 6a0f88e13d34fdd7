"""Say what Kafka lets happen to a topic of policy changes, by what it does to policies."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from fugu.dataflows.kafka.client import EVERYBODY, Rights, Topic
from fugu.dataflows.pipeline.policy_changes import (
    log_remarks,
    loss_remarks,
    policy_topic_remarks,
    signatures_of,
)
from fugu.dataflows.policies.signatures import Signatures
from tests.dataflows.pipeline.test_policy_changes import ALICE, pipeline

KEPT = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "message.timestamp.type": "LogAppendTime",
}
COMPACTED = {"cleanup.policy": "compact"}
NARROW = Rights({"WRITE": frozenset({"User:meters"}), "READ": frozenset({EVERYBODY})})


def remarks(
    signatures: Signatures, rights: Rights | None = NARROW, settings: Mapping[str, str] = KEPT
) -> list[str]:
    topic = Topic("changes", "id", 1, {**KEPT, **settings})
    return list(policy_topic_remarks(topic, rights, signatures))


@pytest.fixture
def unowned(tmp_path: Path) -> Signatures:
    return made(tmp_path)


@pytest.fixture
def owned(tmp_path: Path) -> Signatures:
    return made(tmp_path, everything=ALICE)


def made(directory: Path, policies: str = "changes", everything: str = "") -> Signatures:
    signatures = signatures_of(pipeline(directory, policies, everything=everything))
    assert signatures is not None
    return signatures


def test_a_topic_that_keeps_everything_and_few_may_write_to_is_fine(
    unowned: Signatures, owned: Signatures
) -> None:
    assert remarks(unowned) == remarks(owned) == []


def test_compaction_is_worse_where_records_have_owners(
    unowned: Signatures, owned: Signatures
) -> None:
    [lost] = remarks(unowned, settings=COMPACTED)
    assert "of each policy the last record only is sure to be read" in lost
    assert len(remarks(owned, settings=COMPACTED)) == 2
    assert (
        "a record that nobody has signed removes the one of an owner"
        in remarks(owned, settings=COMPACTED)[1]
    )


def test_whoever_dates_removals_back_is_warned_of(owned: Signatures) -> None:
    [remark] = remarks(owned, settings={"message.timestamp.type": "CreateTime"})
    assert "Set it to LogAppendTime" in remark


def test_what_is_gone_already_is_said_with_its_offset(owned: Signatures) -> None:
    [remark] = loss_remarks(Topic("changes", "id", 1, KEPT), owned, first=5)
    assert remark.startswith("topic changes (source.policies) begins at offset 5: what was written")
    assert not [*loss_remarks(Topic("changes", "id", 1, KEPT), owned)]


@pytest.mark.parametrize("setting", ["retention.ms", "retention.bytes"])
def test_retention_is_named_where_it_deletes(setting: str, owned: Signatures) -> None:
    short = {setting: "86400000"}
    [remark] = remarks(owned, settings=short)
    assert f"has {setting}=86400000: old changes go" in remark
    assert len(remarks(owned, settings=short | {"cleanup.policy": "compact,delete"})) == 3
    assert len(remarks(owned, settings=short | COMPACTED)) == 2


def test_what_everybody_can_do_goes_by_owners_and_required_signatures(
    unowned: Signatures, owned: Signatures, tmp_path: Path
) -> None:
    everybody = Rights({"WRITE": frozenset({EVERYBODY})})
    required = made(tmp_path, "{topic: changes, signed: required}", everything=ALICE)
    for signatures, said in (
        (unowned, "remove policies of collection household, which has no owners"),
        (owned, "add policies, which cost noise up to the limits"),
        (required, "fill it with what nobody has signed"),
    ):
        [remark] = remarks(signatures, everybody)
        assert said in remark


def test_who_may_delete_records_is_named(owned: Signatures) -> None:
    rights = Rights({"DELETE": frozenset({"User:ops"}), "ALTER_CONFIGS": frozenset({"User:adm"})})
    [remark] = remarks(owned, rights)
    assert remark.startswith("User:adm, User:ops may delete records of changes")


def test_without_an_authorizer_everybody_may_do_everything(owned: Signatures) -> None:
    writing, deleting = remarks(owned, Rights({"ALL": frozenset({EVERYBODY})}))
    assert writing.startswith("everybody who reaches the broker may write to changes")
    assert deleting.startswith("everybody who reaches the broker may delete records of changes")


def test_nobody_else_is_to_read_or_write_the_log() -> None:
    reading, writing = log_remarks("sums", Rights({"ALL": frozenset({EVERYBODY})}))
    assert "may read sums, which holds what is not released" in reading
    assert "may write to sums. Entries of others do not count" in writing
    assert [*log_remarks("sums", Rights({"WRITE": frozenset({EVERYBODY})}))] == [writing]
    narrow = Rights({"ALL": frozenset({"User:fugu"})})
    assert not [*log_remarks("sums", narrow), *log_remarks("sums", None)]


def test_what_cannot_be_checked_is_said(owned: Signatures) -> None:
    assert "cannot be checked" in remarks(owned, None)[0]
    assert "no ACL is about changes" in remarks(owned, Rights({}, ruled=False))[0]


def test_a_collection_that_nobody_can_change_is_named(tmp_path: Path) -> None:
    [remark] = remarks(made(tmp_path, "{topic: changes, signed: required}"))
    assert "collection household has no owners: nobody can change its policies" in remark
