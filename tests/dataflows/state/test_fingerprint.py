"""A state is continued by the pipeline it belongs to, or not at all."""

from typing import Any

import pytest

from fugu.dataflows.base.errors import StartRefused
from fugu.dataflows.state.fingerprint import Fingerprint, check_same
from tests.dataflows.state.fingerprints import FINGERPRINT

CHANGES: dict[str, tuple[Any, str]] = {
    "pipeline": ("steps-per-hour", "correct name, state.directory or state.topic"),
    "steps": (["source", "sinks"], "would drop their state"),
    "operator": ("paper_crr", "fugu migrate OLD NEW"),
    "implementation": (2, "this version cannot read it; run the version that wrote it"),
    "law": ("another-law", "fugu migrate OLD NEW"),
    "reading": ("another-reading", "fugu state repartition"),
    "version": (2, "fugu migrate OLD NEW"),
    "key_epoch": (1, "use the key file that fugu state rotate"),
    "shard": (1, "restore the layout of state.directory"),
    "shards": (2, "set state.shards back"),
    "secret_check": ("another-check", "restore the old one"),
    "source_topic": ("steps.raw", "correct source.topic"),
    "source_identity": ("other-id", "the topic of records by user (source.key.repartition)"),
    "partitions": (3, "created again with fewer partitions"),
    "sink_topic": ("steps.sanitized", "correct sink.topic"),
    "sink_identity": ("other-id", "the sink topic was deleted and created again"),
    "sink_key": ("none", "set sink.key back"),
    "dead_letters_topic": ("dead", "set sink.dead_letters back"),
    "ledger_topic": ("", "set ledger.topic back"),
    "ledger_identity": ("other-id", "the ledger topic was deleted and created again"),
    "dead_letters_identity": ("other-id", "the dead-letter topic was deleted and created again"),
    "origin_topic": ("steps.raw", "correct source.topic"),
    "origin_identity": ("other-id", "the source topic was deleted and created again"),
}
REMEMBERED_ONLY = {
    "format",
    "former",
    "rotated_at",
    "redriven",
    "strangers",
    "partitions_begun",
    "source_begin",
    "sink_begin",
    "dead_letters_begin",
    "ledger_begin",
}


def test_every_field_is_compared_or_only_remembered() -> None:
    assert set(Fingerprint.model_fields) == set(CHANGES) | REMEMBERED_ONLY


def test_the_same_pipeline_continues_whatever_its_topics_hold_now() -> None:
    check_same(FINGERPRINT, FINGERPRINT)
    check_same(FINGERPRINT, FINGERPRINT.model_copy(update={"sink_begin": [7, 7]}))


def test_a_change_of_a_state_in_kafka_is_refused_with_what_can_be_done_there() -> None:
    with pytest.raises(StartRefused, match=r"on disk alone(?s:.)*fugu state move OLD NEW"):
        check_same(FINGERPRINT, FINGERPRINT.model_copy(update={"law": "other"}), in_kafka=True)


@pytest.mark.parametrize("field", CHANGES)
def test_a_change_is_refused_with_what_to_do(field: str) -> None:
    value, advice = CHANGES[field]
    with pytest.raises(StartRefused, match=f"refusing to start: {field} changed") as caught:
        check_same(FINGERPRINT, FINGERPRINT.model_copy(update={field: value}))
    assert advice in str(caught.value)


def test_a_topic_that_was_created_again_is_named() -> None:
    other = FINGERPRINT.model_copy(update={"source_identity": "other-id"})
    with pytest.raises(StartRefused, match=f"topic {FINGERPRINT.source_topic}: was"):
        check_same(FINGERPRINT, other)


LOG, POLICIES = "the internal log (sink.partials)", "the topic of policies (source.policies)"


@pytest.mark.parametrize(
    ("steps", "role", "said"),
    [
        (["source", "decode", "bound", "partials"], "source", "the topic of records by user"),
        (["source", "decode", "bound", "partials"], "origin", "the source topic"),
        (["source", "decode", "bound", "partials"], "sink", LOG),
        (["source", "decode", "bound", "partials"], "dead_letters", "the dead-letter topic"),
        (["log", "read", "merge", "releases", "sink"], "source", LOG),
        (["log", "read", "merge", "releases", "sink"], "sink", "the sink topic"),
        (["policies", "read", "changes"], "source", POLICIES),
        (["policies", "read", "changes"], "sink", LOG),
        (["source", "decode", "sanitize"], "source", "the topic of records by user"),
        (["source", "decode", "sanitize"], "sink", "the sink topic"),
    ],
)
def test_what_was_created_again_is_called_what_it_is_and_the_advice_can_be_followed(
    steps: list[str], role: str, said: str
) -> None:
    before = FINGERPRINT.model_copy(update={"steps": steps})
    other = before.model_copy(update={f"{role}_identity": "other-id"})
    with pytest.raises(StartRefused) as caught:
        check_same(before, other, in_kafka=True)
    text, streams = str(caught.value), "sanitize" in steps
    assert f"{said}" in text
    assert "was deleted and created again" in text
    reads_source = role == "origin" or "by user" in said
    assert ("What was spent stays in the state" in text) == (not streams and not reads_source)
    assert ("fugu migrate" in text) == (streams and not reads_source)
    assert ("These commands change" in text) == ("fugu migrate" in text)


@pytest.mark.parametrize("field", ["secret_check", "law", "reading"])
def test_digests_are_not_shown(field: str) -> None:
    value, _ = CHANGES[field]
    with pytest.raises(StartRefused) as caught:
        check_same(FINGERPRINT, FINGERPRINT.model_copy(update={field: value}))
    assert str(value) not in str(caught.value)
    assert str(getattr(FINGERPRINT, field)) not in str(caught.value)


def test_all_changes_are_listed_at_once() -> None:
    changed = FINGERPRINT.model_copy(update={"operator": "paper_crr", "sink_key": "none"})
    with pytest.raises(StartRefused) as caught:
        check_same(FINGERPRINT, changed)
    assert "operator changed (was crr, is paper_crr)" in str(caught.value)
    assert "sink_key changed (was pseudonym, is none)" in str(caught.value)


@pytest.mark.parametrize("field", ["secret_check", "sink_identity", "ledger_identity"])
def test_a_new_pipeline_over_the_same_records_is_said_to_be_a_second_release(field: str) -> None:
    with pytest.raises(StartRefused, match=r"a second time, .* and both releases add up"):
        check_same(FINGERPRINT, FINGERPRINT.model_copy(update={field: "another"}))


@pytest.mark.parametrize("field", ["source_identity", "partitions"])
def test_a_new_pipeline_over_new_records_is_not(field: str) -> None:
    with pytest.raises(StartRefused, match="new name, state and sink topic") as caught:
        check_same(FINGERPRINT, FINGERPRINT.model_copy(update={field: CHANGES[field][0]}))
    assert "second time" not in str(caught.value)
