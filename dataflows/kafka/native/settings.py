"""Translate a `Connection` into settings of librdkafka; the settings that matter, with reasons."""

import ssl
from typing import Any

from fugu.dataflows.kafka import client
from fugu.dataflows.kafka.connection import OAUTHBEARER, PRODUCING, Connection, Credentials
from fugu.dataflows.kafka.credentials import Tls, TokenServer

Settings = dict[str, Any]
_OAUTH = "sasl.oauthbearer"
_FETCHED_BYTES, _BESIDE_WHAT_IS_FETCHED = 1_048_576, 512
"""librdkafka unpacks all that it fetches at once, and bounds only what comes out of zstd."""

READING: Settings = {
    # Offsets are kept in bytewax's snapshots, and the group is a name that nobody joins.
    "group.id": "fugu",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "max.poll.interval.ms": 86_400_000,
    # An offset that is gone is an error: going on elsewhere would lose records silently.
    "auto.offset.reset": "error",
    # Aborted records never count, and bytes that a disk or network changed are not records.
    "isolation.level": "read_committed",
    "check.crcs": True,
    # Says where reading stands behind control records, and behind gaps that compaction left.
    "enable.partition.eof": True,
    # Read ahead until 64 MB wait for the dataflow, or this many records in each partition.
    "queued.min.messages": 50_000,
    "queued.max.messages.kbytes": 65_536,
    # A full queue is looked at again soon: after the default of 1 s it would long be empty.
    "fetch.queue.backoff.ms": 5,
    "fetch.error.backoff.ms": 100,
    # While little arrives, it is sent fifty times a second: the default of 1 byte makes a request
    # of every few records, which costs the broker as much as a request of thousands.
    "fetch.min.bytes": 65_536,
    "fetch.wait.max.ms": 20,
}

MEMBER: Settings = {
    # A copy keeps what it has when another one comes or goes.
    "partition.assignment.strategy": "cooperative-sticky",
    "session.timeout.ms": 10_000,
    "heartbeat.interval.ms": 2_000,
    # A restore takes place between two polls.
    "max.poll.interval.ms": 900_000,
    # Positions are committed with what was made of the records, and asked for once stable.
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
}

UNCOMMITTED: Settings = {"isolation.level": "read_uncommitted"}

WRITING: Settings = {
    # In order, once, on all replicas that are in sync.
    "enable.idempotence": True,
    "acks": "all",
    # A record that cannot be written ends all writing: nothing comes after a gap.
    "enable.gapless.guarantee": True,
    # No record is given up by itself, which would leave a gap: `flush` gives up all of them.
    "message.timeout.ms": 0,
    # Unacknowledged records are bounded; with more, writing waits.
    "queue.buffering.max.messages": 100_000,
    "queue.buffering.max.kbytes": 65_536,
    # Few large requests: with 131,072 bytes half as many records get through. A topic must be
    # ready to take a whole batch, so that the client makes them smaller for topics that are not.
    "linger.ms": 5,
    "batch.size": 1_000_000,
    "message.max.bytes": 1_048_576,
}

TRANSACTIONS: Settings = {
    # How long the records of a process that died hold back what consumers read, if no successor
    # comes. Longer than an epoch, or Kafka would abort what the pipeline still writes.
    "transaction.timeout.ms": client.TRANSACTION_SECONDS * 1000,
    "message.timeout.ms": client.TRANSACTION_SECONDS * 1000,
}


def settings_of(connection: Connection) -> Settings:
    """Return settings of librdkafka's producer, consumer and admin client."""
    chosen = {name: one for name, one in connection.settings.items() if name not in PRODUCING}
    chosen = {"fetch.max.bytes": _FETCHED_BYTES, **chosen}
    fetched = int(chosen["fetch.max.bytes"]) + _BESIDE_WHAT_IS_FETCHED
    settings: Settings = {
        "client.id": connection.client_id,
        "reconnect.backoff.max.ms": 1_000,
        # Of zstd, librdkafka tries buffers that grow threefold, up to this.
        "receive.message.max.bytes": max(3 * connection.max_unpacked_bytes, fetched),
        **chosen,
        "bootstrap.servers": connection.bootstrap,
        "security.protocol": connection.protocol,
        "allow.auto.create.topics": connection.embedded,
    }
    if connection.tls is not None:
        settings |= _tls(connection.tls)
    if connection.credentials is not None:
        settings |= _sasl(connection.credentials)
    if connection.tokens is not None:
        settings |= _oauth(connection.tokens)
    return settings


def writing_settings_of(connection: Connection) -> Settings:
    """Return settings that a producer has beside those."""
    chosen = {name: one for name, one in connection.settings.items() if name in PRODUCING}
    return {**chosen, **WRITING}


def _tls(tls: Tls) -> Settings:
    system = ssl.get_default_verify_paths()
    authorities = tls.authorities or system.cafile or system.capath or "probe"
    settings: Settings = {"ssl.ca.location": str(authorities)}
    if tls.client is not None:
        settings["ssl.certificate.location"] = str(tls.client.certificate)
        settings["ssl.key.location"] = str(tls.client.key)
        if tls.client.password is not None:
            settings["ssl.key.password"] = tls.client.password.get_secret_value()
    return settings


def _sasl(credentials: Credentials) -> Settings:
    return {
        "sasl.mechanism": credentials.mechanism,
        "sasl.username": credentials.username,
        "sasl.password": credentials.password.get_secret_value(),
    }


def _oauth(server: TokenServer) -> Settings:
    """Return settings by which librdkafka gets tokens itself, and new ones in time."""
    settings: Settings = {
        "sasl.mechanism": OAUTHBEARER,
        f"{_OAUTH}.method": "oidc",
        f"{_OAUTH}.token.endpoint.url": server.url,
        f"{_OAUTH}.client.id": server.client_id,
        f"{_OAUTH}.client.secret": server.client_secret.get_secret_value(),
    }
    if server.scope is not None:
        settings[f"{_OAUTH}.scope"] = server.scope
    if server.extensions:
        pairs = (f"{name}={value}" for name, value in server.extensions.items())
        settings[f"{_OAUTH}.extensions"] = ",".join(pairs)
    if server.authorities is not None:
        settings["https.ca.location"] = str(server.authorities)
    return settings
