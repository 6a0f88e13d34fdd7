"""Publish of a release or a dead letter what is public, and nothing else."""

import re

import orjson
import pytest

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.publishing.envelope import KeyPolicy, Pseudonyms
from fugu.dataflows.records.published import record_digest
from fugu.operators.columns import encode_fields
from fugu.operators.randomness import Secret
from tests.dataflows.stages.columns import SECRET, Message, publisher, sanitized

MESSAGES: list[Message] = [
    (b"alice", b'{"zone": "rest", "note": "private"}'),
    (b"bob", b"not json, but private"),
    (b"alice", b'{"zone": "light"}'),
]


def test_a_release_has_exactly_two_headers() -> None:
    outgoing = publisher().releases(sanitized(MESSAGES))
    for headers in outgoing.headers:
        (first, release_id), (second, guarantee) = headers
        assert (first, second) == ("fugu-release", "fugu-guarantee")
        assert re.fullmatch(rb"[0-9a-f]{32}", release_id)
        assert guarantee == b"0123456789abcdef"


def test_a_release_carries_its_partition_and_time_and_an_id_of_its_own() -> None:
    outgoing = publisher().releases(sanitized(MESSAGES))
    assert (outgoing.partition, outgoing.timestamps) == (2, [1000, 1002])
    assert len({headers[0][1] for headers in outgoing.headers}) == 2


@pytest.mark.parametrize(
    ("policy", "pattern"),
    [("pseudonym", rb"[0-9a-f]{32}"), ("original", rb"alice")],
)
def test_a_key_is_published_as_the_policy_says(policy: KeyPolicy, pattern: bytes) -> None:
    keys = publisher(policy).releases(sanitized(MESSAGES)).keys
    assert all(key is not None and re.fullmatch(pattern, key) for key in keys)
    assert keys[0] == keys[1], "one user stays one user"


def test_without_keys_nothing_tells_users_apart() -> None:
    assert list(publisher("none").releases(sanitized(MESSAGES)).keys) == [None, None]


def test_pseudonyms_differ_between_users_sinks_and_secrets() -> None:
    here, again = Pseudonyms(SECRET, "a"), Pseudonyms(SECRET, "a")
    assert here.of(b"alice") == here.of(b"alice") == again.of(b"alice")
    others = [
        here.of(b"bob"),
        here.of(b"alice "),
        Pseudonyms(SECRET, "b").of(b"alice"),
        Pseudonyms(Secret(bytes(32)), "a").of(b"alice"),
    ]
    assert here.of(b"alice") not in others


def test_pseudonyms_of_more_users_than_are_remembered_are_those_of_their_keys() -> None:
    pseudonyms, keys = Pseudonyms(SECRET, "a"), [b"%d" % user for user in range(70_000)]
    expected = SECRET.hasher("fugu-pseudonym-v1", "a")
    expected.update(encode_fields(b"69999"))
    first = pseudonyms.of_each(keys)
    assert first[-1] == expected.hexdigest()[:32].encode()
    others = pseudonyms.of_each([b"user %d" % user for user in range(70_000)])
    assert pseudonyms.of_each(keys) == first
    assert len({*first, *others}) == 140_000


def test_a_dead_letter_is_coordinates_and_a_reason_without_the_payload() -> None:
    outgoing = publisher().dead_letters(2, sanitized(MESSAGES).dead)
    assert [orjson.loads(value) for value in outgoing.values] == [
        {
            "topic": "vitals.raw",
            "partition": 2,
            "offset": 1,
            "reason": Reason.NOT_JSON,
            "field": None,
        }
    ]
    assert outgoing.keys == [None]
    assert outgoing.timestamps == [1001]
    assert [name for name, _ in outgoing.headers[0]] == ["fugu-release", "fugu-guarantee"]


def test_a_dead_letter_and_a_release_of_one_position_have_different_ids() -> None:
    released = publisher().releases(sanitized([(b"alice", b'{"zone": "rest"}')]))
    refused = publisher().dead_letters(2, sanitized([(b"alice", b"{}")]).dead)
    assert released.headers[0][0][1] != refused.headers[0][0][1]


def test_a_digest_covers_key_value_headers_and_timestamp() -> None:
    headers = [("fugu-release", b"1")]
    digests = {
        record_digest(b"k", b"v", headers, 1),
        record_digest(None, b"v", headers, 1),
        record_digest(b"", b"v", headers, 1),
        record_digest(b"kv", b"", headers, 1),
        record_digest(b"k", b"w", headers, 1),
        record_digest(b"k", b"v", [("fugu-release", b"2")], 1),
        record_digest(b"k", b"v", [*headers, ("x", b"")], 1),
        record_digest(b"k", b"v", headers, 2),
    }
    assert len(digests) == 8
