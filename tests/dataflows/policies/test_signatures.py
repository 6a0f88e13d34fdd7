"""Only an owner of a collection counts as one, whatever a record says about itself."""

import base64
import hmac
from pathlib import Path
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from fugu.dataflows.base.batches import Header
from fugu.dataflows.policies.changes import UnusableChange, change
from fugu.dataflows.policies.document import PolicyDocument
from fugu.dataflows.policies.signatures import HEADER, Signatures, signed, signed_with_secret
from fugu.operators.randomness import Secret
from tests.dataflows.policies.documents import DOCUMENT, read, read_error, with_change

TOPIC, KEY = "household.policies", b"household/shower"
REMOVAL = orjson.dumps({"effective": 7, "remove": True})
ALICE, BOB, STRANGER = (Ed25519PrivateKey.from_private_bytes(bytes([i]) * 32) for i in (1, 2, 3))
SECRET, OTHER_SECRET = Secret(bytes(32)), Secret(bytes([1]) * 32)


def public(key: Ed25519PrivateKey) -> str:
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


OWNED = DOCUMENT.replace(
    "    applies_to: {default: true}\n",
    f"    applies_to: {{default: true}}\n    owners: [{{name: alice, ed25519: {public(ALICE)}}}]\n",
).replace(
    "    applies_to: {keys: [meter-1, meter-2]}\n",
    "    applies_to: {keys: [meter-1, meter-2]}\n"
    f"    owners: [{{name: bob, ed25519: {public(BOB)}}}, {{name: all-of-us, hmac: true}}]\n",
)


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> PolicyDocument:
    return read(tmp_path_factory.mktemp("owned"), OWNED)


@pytest.fixture(scope="module")
def signatures(document: PolicyDocument) -> Signatures:
    return Signatures(document, TOPIC, secret=SECRET)


def by(
    key: Ed25519PrivateKey,
    name: str,
    *,
    topic: str = TOPIC,
    of: bytes = KEY,
    value: bytes = REMOVAL,
) -> list[Header]:
    return [signed(topic, of, value, key, name)]


def refused(
    signatures: Signatures, headers: list[Header], value: bytes | None = REMOVAL, key: bytes = KEY
) -> str:
    with pytest.raises(UnusableChange) as caught:
        signatures.by_owner(key, value, headers)
    assert caught.value.place.split(": ")[-1] == "signature"
    return str(caught.value)


def test_an_owner_is_known_by_a_signature(signatures: Signatures) -> None:
    assert signatures.by_owner(KEY, REMOVAL, by(ALICE, "alice"))
    assert signatures.by_owner(KEY, REMOVAL, [("trace", b"7"), *by(ALICE, "alice")])


def test_an_owner_is_known_by_the_shared_secret(signatures: Signatures) -> None:
    shop = b"shop/sauna"
    assert signatures.by_owner(shop, REMOVAL, [signed_with_secret(TOPIC, shop, REMOVAL, SECRET)])


def test_what_is_signed_is_what_the_page_says() -> None:
    message = b"fugu policy change 1\0household.policies\0household/shower\0" + REMOVAL
    signature = base64.b64encode(ALICE.sign(message))
    assert by(ALICE, "alice") == [("fugu-signature", b"ed25519 alice " + signature)]
    code = base64.b64encode(hmac.new(bytes(32), message, "sha256").digest())
    assert signed_with_secret(TOPIC, KEY, REMOVAL, SECRET) == ("fugu-signature", b"hmac " + code)


@pytest.mark.parametrize("value", [REMOVAL, None])
def test_who_does_not_sign_is_no_owner(value: bytes | None, signatures: Signatures) -> None:
    assert not signatures.by_owner(KEY, value, [])


def test_an_owner_of_one_collection_is_none_of_another(signatures: Signatures) -> None:
    assert not signatures.by_owner(KEY, REMOVAL, by(BOB, "bob"))
    assert not signatures.by_owner(KEY, REMOVAL, [signed_with_secret(TOPIC, KEY, REMOVAL, SECRET)])
    unknown = b"garden/shower"
    assert not signatures.by_owner(unknown, REMOVAL, by(ALICE, "alice", of=unknown))


def test_the_owners_of_a_document_own_every_collection(tmp_path: Path) -> None:
    owners = f"owners: [{{name: utility, ed25519: {public(BOB)}}}]\ncollections:\n"
    signatures = Signatures(read(tmp_path, with_change("collections:\n", owners)), TOPIC)
    for key in (KEY, b"shop/sauna", b"garden/shower", b"garden"):
        assert signatures.by_owner(key, REMOVAL, by(BOB, "utility", of=key))
    assert {one.owned for one in signatures.document.policies.collections} == {True}


def test_another_key_is_the_same_law_and_the_first_owner_is_not(tmp_path: Path) -> None:
    def law(owner: str) -> bytes:
        owners = f"owners: [{owner}]\ncollections:\n" if owner else "collections:\n"
        return read(tmp_path, with_change("collections:\n", owners)).policies.digest()

    first, second = (f"{{name: alice, ed25519: {public(key)}}}" for key in (ALICE, BOB))
    assert law(first) == law(second) == law("{name: us, hmac: true}") != law("")


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"topic": "office.policies"},
        {"of": b"household/sauna"},
        {"of": b"shop/shower"},
        {"value": orjson.dumps({"effective": 8, "remove": True})},
        {"value": REMOVAL + b" "},
    ],
)
def test_a_signature_of_something_else_is_refused(
    elsewhere: dict[str, Any], signatures: Signatures
) -> None:
    assert "is not that of this topic" in refused(signatures, by(ALICE, "alice", **elsewhere))


def test_a_signature_by_the_key_of_somebody_else_is_refused(signatures: Signatures) -> None:
    assert "is not that of" in refused(signatures, by(STRANGER, "alice"))
    assert "is not that of" in refused(signatures, by(BOB, "alice"))
    assert "without an ed25519 key" in refused(signatures, by(STRANGER, "stranger"))
    assert "without an ed25519 key" in refused(signatures, by(STRANGER, "all-of-us"))


def test_a_wrong_secret_is_refused(signatures: Signatures, document: PolicyDocument) -> None:
    wrong = [signed_with_secret(TOPIC, b"shop/sauna", REMOVAL, OTHER_SECRET)]
    assert "is not that of" in refused(signatures, wrong, key=b"shop/sauna")
    without = Signatures(document, TOPIC)
    assert "no source.policies.hmac" in refused(without, wrong, key=b"shop/sauna")


def test_a_public_key_is_no_secret(document: PolicyDocument) -> None:
    """Whoever knows what everybody knows must not pass it off as a secret."""
    key = Secret(base64.b64decode(public(ALICE)))
    headers = [signed_with_secret(TOPIC, KEY, REMOVAL, key)]
    refused(Signatures(document, TOPIC, secret=SECRET), headers)
    refused(Signatures(document, TOPIC), headers)


def test_a_record_without_a_value_is_never_signed(signatures: Signatures) -> None:
    assert "is of no value" in refused(signatures, by(ALICE, "alice", value=b""), None)


def test_two_signatures_are_refused(signatures: Signatures) -> None:
    assert "more than once" in refused(signatures, by(BOB, "bob") + by(ALICE, "alice"))


@pytest.mark.parametrize("cut", range(1, 100, 7))
def test_a_shortened_signature_is_refused(cut: int, signatures: Signatures) -> None:
    [(name, content)] = by(ALICE, "alice")
    refused(signatures, [(name, content[:-cut])])


@given(place=st.integers(0, 101), bit=st.integers(0, 7))
def test_one_other_bit_makes_a_signature_wrong(
    place: int, bit: int, signatures: Signatures
) -> None:
    [(name, content)] = by(ALICE, "alice")
    garbled = bytearray(content)
    garbled[place % len(content)] ^= 1 << bit
    refused(signatures, [(name, bytes(garbled))])


@given(content=st.none() | st.binary(max_size=600))
def test_garbage_is_refused(content: Any, signatures: Signatures) -> None:
    refused(signatures, [(HEADER, content)])


def test_required_signatures_are_those_of_owners(document: PolicyDocument) -> None:
    required = Signatures(document, TOPIC, required=True, secret=SECRET)
    assert required.by_owner(KEY, REMOVAL, by(ALICE, "alice"))
    for value, headers in ((REMOVAL, []), (None, []), (REMOVAL, by(BOB, "bob"))):
        assert "must be that of an owner" in refused(required, headers, value)


def test_a_change_says_whether_it_is_an_owners(document: PolicyDocument) -> None:
    assert change(KEY, REMOVAL, document, owner=True).owner
    assert not change(KEY, REMOVAL, document).owner
    assert not change(KEY, None, document).owner


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("{name: alice}", "write either ed25519: PUBLIC_KEY or hmac: true"),
        ("{name: alice, hmac: true, ed25519: KEY}", "write either ed25519: PUBLIC_KEY or hmac"),
        ("{name: alice, ed25519: c2hvcnQ=}", "write the 32 bytes of a public key in base64"),
        ("{name: alice, ed25519: KEY }, {name: alice, hmac: true}", "alice has another key"),
        ("{name: al ice, hmac: true}", "use letters, digits, dot, underscore and minus only"),
    ],
)
def test_an_owner_that_cannot_be_one_is_refused_by_line(
    written: str, said: str, tmp_path: Path
) -> None:
    owners = f"owners: [{written.replace('KEY', public(ALICE), 1)}]\ncollections:\n"
    error = read_error(tmp_path, with_change("collections:\n", owners))
    assert error.startswith("policies.yaml:6: owners.")
    assert said in error


FIELD = 2**255 - 19
OF_ORDER_8 = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
Y_OF_ORDER_8 = int.from_bytes(OF_ORDER_8, "little")


@pytest.mark.parametrize("sign", [0, 1])
@pytest.mark.parametrize(
    "y", [0, 1, FIELD - 1, FIELD, FIELD + 1, Y_OF_ORDER_8, FIELD - Y_OF_ORDER_8]
)
def test_a_key_for_which_anybody_can_sign_is_refused(y: int, sign: int, tmp_path: Path) -> None:
    key = base64.b64encode((y | sign << 255).to_bytes(32, "little")).decode()
    owners = f"owners: [{{name: alice, ed25519: {key}}}]\ncollections:\n"
    assert "anybody can sign for it" in read_error(tmp_path, with_change("collections:\n", owners))


def test_a_signature_for_the_neutral_point_needs_no_private_key() -> None:
    """Why such keys are refused: this is a forgery, and the library takes it."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    neutral = (1).to_bytes(32, "little")
    Ed25519PublicKey.from_public_bytes(neutral).verify(neutral + bytes(32), b"whatever is said")
