"""Open what is sealed in its own place alone; it never looks the same twice."""

import pytest

from fugu.dataflows.state.sealing import Sealing
from fugu.operators.secret import Secret

SECRET = Secret(bytes(range(32)))


def test_what_is_sealed_opens_in_its_place() -> None:
    sealing = Sealing(SECRET, "topic")
    sealed = sealing.sealed(3, b"1/0/0/1", b"alice spent 3")
    assert sealing.opened(3, b"1/0/0/1", sealed) == b"alice spent 3"
    assert b"alice" not in sealed
    assert sealed != sealing.sealed(3, b"1/0/0/1", b"alice spent 3")


@pytest.mark.parametrize(
    ("topic", "secret", "partition", "key", "changed"),
    [
        ("other", SECRET, 3, b"1/0/0/1", b""),
        ("topic", Secret(bytes(31) + b"1"), 3, b"1/0/0/1", b""),
        ("topic", SECRET, 2, b"1/0/0/1", b""),
        ("topic", SECRET, 3, b"1/1/0/1", b""),
        ("topic", SECRET, 3, b"1/0/0/1", b"!"),
    ],
)
def test_it_opens_nowhere_else(
    topic: str, secret: Secret, partition: int, key: bytes, changed: bytes
) -> None:
    sealed = Sealing(SECRET, "topic").sealed(3, b"1/0/0/1", b"alice") + changed
    with pytest.raises(ValueError, match="changed or moved"):
        Sealing(secret, topic).opened(partition, key, sealed)
