"""Strangers who can write any record to the topic take nothing away from what has an owner.

Records go the way of a pipeline: signatures, then the change, then what becomes of it.
"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any, Literal

import orjson
import pytest

from fugu.dataflows.base.batches import Header
from fugu.dataflows.policies.changes import UnusableChange, change
from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.signatures import HEADER, Signatures, signed, signed_with_secret
from fugu.operators.randomness import Secret
from tests.dataflows.policies.documents import DOCUMENT, read
from tests.dataflows.policies.test_signatures import ALICE, BOB, STRANGER, public

TOPIC, SHOWER = "household.policies", b"household/shower"
SECRET = Secret(bytes(range(32)))
MONDAY = int(datetime.fromisoformat("2026-01-05T06:00+01:00").timestamp()) // 600
"""A tick at which the shower's hours begin."""
WEEK = 7 * 144
WIDER = {
    "id": "shower",
    "activities": ["boiler"],
    "calendar": {"days": ["mon", "fri"], "start": "06:00", "end": "09:00"},
    "pattern": {"duration": "PT10M"},
    "theta": "3 kW",
}
SMALLER = WIDER | {"theta": "1 kW"}
Outcome = Literal["taken", "refused", "dead letter"]
Record = tuple[bytes, bytes | None, list[Header]]


class Topic:
    """Return what a pipeline makes of the records that are written, at a tick that goes on."""

    def __init__(self, document: PolicyDocument, *, required: bool = False) -> None:
        self.document, self.now, self.changes = document, MONDAY - 4 * WEEK, b""
        self.signatures = Signatures(document, TOPIC, required, SECRET)
        self.log: list[Record] = []

    def write(
        self, key: bytes, value: bytes | None, headers: list[Header] | None = None
    ) -> Outcome:
        """Return what becomes of a record."""
        self.log.append((key, value, headers or []))
        try:
            owner = self.signatures.by_owner(key, value, headers or [])
            read = change(key, value, self.document, owner=owner)
        except UnusableChange:
            return "dead letter"
        try:
            self.changes = self.document.policies.changed(self.changes, read.to_bytes(), self.now)
        except ValueError:
            return "refused"
        return "taken"

    def units(self, tick: int) -> int:
        """Return how much of a tick is hidden."""
        return self.document.policies.relevance(tick, self.changes).sensitivity

    @property
    def mondays(self) -> list[int]:
        """Return what is hidden at six, on Mondays after all notices."""
        return [self.units(MONDAY + week * WEEK) for week in range(4)]


def value(sequence: int | None = None, **members: Any) -> bytes:
    numbered = {} if sequence is None else {"sequence": sequence}
    return orjson.dumps({"effective": 7} | members | numbered)


def removal(sequence: int | None = None) -> bytes:
    return value(sequence, remove=True)


def by_alice(key: bytes, content: bytes) -> list[Header]:
    return [signed(TOPIC, key, content, ALICE, "alice")]


@pytest.fixture
def document(tmp_path: Path) -> PolicyDocument:
    household = f"    owners: [{{name: alice, ed25519: {public(ALICE)}}}]\n"
    shop = f"    owners: [{{name: bob, ed25519: {public(BOB)}}}, {{name: us, hmac: true}}]\n"
    first, second = (
        f"    applies_to: {whose}\n" for whose in ("{default: true}", "{keys: [meter-1, meter-2]}")
    )
    owned = DOCUMENT.replace(first, first + household).replace(second, second + shop)
    return read(tmp_path, owned)


@pytest.fixture
def topic(document: PolicyDocument) -> Topic:
    topic = Topic(document)
    assert topic.mondays == [220] * 4
    return topic


def test_an_owner_removes_after_the_notice(topic: Topic) -> None:
    assert topic.write(SHOWER, removal(1), by_alice(SHOWER, removal(1))) == "taken"
    assert topic.mondays == [0] * 4


def test_a_tombstone_of_a_stranger_removes_nothing(topic: Topic) -> None:
    assert topic.write(SHOWER, None) == "refused"
    assert topic.mondays == [220] * 4


@pytest.mark.parametrize("less", [removal(), removal(9), value(policy=SMALLER)])
def test_a_reduction_that_nobody_signed_is_refused(less: bytes, topic: Topic) -> None:
    assert topic.write(SHOWER, less) == "refused"
    assert topic.mondays == [220] * 4


def test_a_stranger_can_only_add(topic: Topic) -> None:
    assert topic.write(SHOWER, value(policy=WIDER)) == "taken"
    assert topic.mondays == [300] * 4


def test_a_number_that_a_stranger_writes_does_not_keep_an_owner_out(topic: Topic) -> None:
    largest = value(2**53 - 1, policy=WIDER)
    assert topic.write(SHOWER, largest) == "taken"
    by_bob = value(2**53 - 1, policy=WIDER | {"theta": "4 kW"})
    assert topic.write(SHOWER, by_bob, [signed(TOPIC, SHOWER, by_bob, BOB, "bob")]) == "taken"
    assert topic.write(SHOWER, removal(1), by_alice(SHOWER, removal(1))) == "taken"
    assert topic.mondays == [0] * 4


def test_an_owner_of_another_collection_is_a_stranger(topic: Topic) -> None:
    content = removal(1)
    assert topic.write(SHOWER, content, [signed(TOPIC, SHOWER, content, BOB, "bob")]) == "refused"
    code = signed_with_secret(TOPIC, SHOWER, content, SECRET)
    assert topic.write(SHOWER, content, [code]) == "refused"
    assert topic.mondays == [220] * 4


def test_an_old_removal_does_not_count_again(topic: Topic) -> None:
    gone, back = removal(1), value(2, policy=WIDER)
    assert topic.write(SHOWER, gone, by_alice(SHOWER, gone)) == "taken"
    assert topic.write(SHOWER, back, by_alice(SHOWER, back)) == "taken"
    before = topic.mondays
    for key, content, headers in list(topic.log):
        assert topic.write(key, content, headers) == "refused"
    assert topic.mondays == before == [300] * 4


def test_a_signature_is_of_one_topic_key_and_value(topic: Topic) -> None:
    content = removal(1)
    for headers in (
        [signed("office.policies", SHOWER, content, ALICE, "alice")],
        by_alice(b"household/holiday", content),
        by_alice(SHOWER, removal(2)),
        [signed(TOPIC, SHOWER, content, STRANGER, "alice")],
        [(HEADER, by_alice(SHOWER, content)[0][1][:-3])],
        [signed_with_secret(TOPIC, SHOWER, content, Secret(bytes(32)))],
    ):
        assert topic.write(SHOWER, content, headers) == "dead letter"
    assert topic.mondays == [220] * 4


def test_where_signatures_are_required_strangers_change_nothing(document: PolicyDocument) -> None:
    topic = Topic(document, required=True)
    assert topic.write(SHOWER, None) == "dead letter"
    for key, content in (
        (SHOWER, value(1, policy=WIDER)),
        (b"household/sauna", value(1, policy=WIDER | {"id": "sauna"})),
        (b"garden", value(1, collection={"policies": [WIDER]})),
        (b"household", value(1, keys=["meter-1"])),
    ):
        assert topic.write(key, content) == "dead letter"
        assert topic.write(key, content, [signed(TOPIC, key, content, BOB, "bob")]) == "dead letter"
    assert topic.mondays == [220] * 4
    own = value(1, policy=WIDER)
    assert topic.write(SHOWER, own, by_alice(SHOWER, own)) == "taken"


@pytest.mark.parametrize(
    ("maker", "outcome"), [("utility", "refused"), ("alice", "taken"), (None, "taken")]
)
def test_a_collection_is_owned_if_an_owner_of_all_made_it(
    maker: str | None, outcome: Outcome, tmp_path: Path
) -> None:
    keys = {"utility": BOB, "alice": ALICE}
    household = f"    owners: [{{name: alice, ed25519: {public(ALICE)}}}]\n"
    everybody = "    applies_to: {default: true}\n"
    owned = DOCUMENT.replace(everybody, everybody + household)
    owners = f"owners: [{{name: utility, ed25519: {public(BOB)}}}]\n"
    topic = Topic(read(tmp_path, owners + owned))
    made = value(1, collection={"policies": [WIDER]})
    headers = [signed(TOPIC, b"garden", made, keys[maker], maker)] if maker else []
    assert topic.write(b"garden", made, headers) == "taken"
    assert topic.mondays == [300] * 4
    assert topic.write(b"garden/shower", None) == outcome


def forgeries(random: Random, topic: Topic) -> Iterator[Record]:
    """Write as somebody who has every record, and the keys and secrets of others."""
    key, content, headers = random.choice(topic.log)
    other = random.choice([SHOWER, b"household/holiday", b"household/sauna", b"shop/sauna"])
    written = random.choice(
        [None, content, removal(random.randrange(1, 99)), value(99, policy=SMALLER)]
    )
    yield key, content, headers
    yield other, written, headers
    yield other, written, []
    if written is not None:
        yield other, written, [signed(TOPIC, other, written, BOB, random.choice(["bob", "alice"]))]
        yield other, written, [signed(TOPIC, other, written, STRANGER, "alice")]
        yield other, written, [signed_with_secret(TOPIC, other, written, SECRET)]
    if headers:
        garbled = bytearray(headers[0][1])
        garbled[random.randrange(len(garbled))] ^= 1 << random.randrange(8)
        yield key, content, [(HEADER, bytes(garbled))]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_forged_nothing_that_alice_wants_gets_less(
    seed: int, document: PolicyDocument
) -> None:
    random, topic = Random(seed), Topic(document)
    wanted, sequence = 220, 0
    for _ in range(15):
        if random.random() < 0.5:
            sequence += 1
            theta = random.choice([0, 1, 2.2, 3])
            content = value(sequence, policy=WIDER | {"theta": theta})
            assert topic.write(SHOWER, content, by_alice(SHOWER, content)) == "taken"
            wanted = round(theta * 100)
        else:
            topic.log.append((SHOWER, removal(), []))
        for record in forgeries(random, topic):
            topic.write(*record)
            assert min(topic.mondays) >= wanted
        topic.now += random.randrange(3)
