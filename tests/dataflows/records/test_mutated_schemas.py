"""Schemas and messages with faults, from a registry: each record is read, or a dead letter."""

import logging
import time
from collections import Counter
from random import Random

import pytest

from fugu.dataflows.base.batches import Batch, Decoded
from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.json_fields import FieldTimestamp
from fugu.dataflows.records.registered import Registered, SchemaKind, prefix_of
from fugu.dataflows.records.symbols import Symbols
from tests.dataflows.kafka.played_registry import played_registry
from tests.dataflows.records.mutated import (
    CANARY,
    ZONES,
    add_to,
    mutated_content,
    mutated_schema,
    other_schema,
    whole_messages,
)

TOGETHER, EACH = 10, 20
"""Schemas that are met in one batch, and messages that come with each of them."""
SECONDS = 10.0
"""The time to get and to prepare one schema."""


def decoded(codec: Codec, contents: list[bytes]) -> Decoded:
    count = len(contents)
    keys: list[bytes | None] = [b"ann"] * count
    columns = OptionalByteColumn.of(keys), OptionalByteColumn.of(contents)
    return codec.decode(Batch(0, range(count), [1] * count, *columns, [[]] * count))


@pytest.mark.parametrize(("kind", "schemas"), [("avro", 200), ("protobuf", 150)])
def test_schemas_and_messages_with_faults_make_dead_letters_at_most(
    kind: SchemaKind,
    schemas: int,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """A fifth of the records is also read alone, with the same result; and nothing takes long."""
    random, became = Random(kind), Counter[str]()
    with caplog.at_level(logging.DEBUG), played_registry() as registry:
        client = registry.client
        wire = Registered(kind, client, ["zone", "at"])
        codec = Codec(Symbols("zone", ZONES), 1_000_000, FieldTimestamp("at", 1), wire=wire)
        add_to(registry, "other", other_schema(kind))
        for first in range(0, schemas, TOGETHER):
            numbers = range(first + 1, first + 1 + TOGETHER)
            for number in numbers:
                add_to(registry, number, mutated_schema(random, kind))
            contents = [
                prefix_of(random.choice(numbers))
                + mutated_content(random, random.choice(whole_messages(kind)))
                for _ in range(TOGETHER * EACH)
            ]
            begin = time.monotonic()
            while not wire.is_ready(contents):
                assert client.away_since is None, client.away_because
                assert time.monotonic() - begin < SECONDS * TOGETHER
                time.sleep(0.002)
            begin = time.monotonic()
            found = decoded(codec, contents)
            assert time.monotonic() - begin < SECONDS
            values = dict(zip(found.offsets, found.values.tolist(), strict=True))
            assert sorted([*values, *found.dead.offsets]) == list(range(len(contents)))
            for place, content in enumerate(contents):
                if random.random() < 0.8:
                    continue
                alone = decoded(codec, [content]).values.tolist()
                assert alone == ([values[place]] if place in values else [])
            assert all(
                one in {"", "zone", "at"} or one.startswith("schema ") for one in found.dead.fields
            )
            became["read"] += len(values)
            became.update(map(str, found.dead.reasons))
    assert became.total() == EACH * schemas
    assert became["read"] > became.total() / 20
    assert became["unusable_schema"] > became.total() / 5
    assert became["not_as_schema"] > became.total() / 20
    assert CANARY not in caplog.text + "".join(capfd.readouterr())
