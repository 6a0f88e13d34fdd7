"""A fingerprint with a value of its own in every field."""

from fugu.dataflows.state.fingerprint import Fingerprint

FINGERPRINT = Fingerprint(
    pipeline="heart-zones",
    steps=["source", "sink"],
    operator="crr",
    implementation=1,
    law="the-law",
    reading="the-reading",
    version=1,
    key_epoch=0,
    secret_check="the-secret-check",
    shard=0,
    shards=1,
    source_topic="vitals.raw",
    source_identity="source-id",
    partitions=2,
    sink_topic="vitals.sanitized",
    sink_identity="sink-id",
    sink_key="pseudonym",
    dead_letters_topic="vitals.sanitized.dead",
    dead_letters_identity="dead-id",
    ledger_topic="fugu.ledger",
    ledger_identity="ledger-id",
    source_begin={"0": 0, "1": 0},
    sink_begin={"0": 0, "1": 0},
    dead_letters_begin={"0": 0, "1": 0},
    ledger_begin={"0": 0, "1": 0},
    origin_topic="watches.raw",
    origin_identity="origin-id",
)
