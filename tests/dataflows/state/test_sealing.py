"""Open what is sealed in its own place alone; what is encrypted never looks the same twice."""

import pytest

from fugu.dataflows.state.sealing import Sealing
from fugu.operators.randomness import Secret

SECRET, HIDING = Secret(bytes(range(32))), Secret(bytes(range(1, 33)))
KEY = b"1/0/0/1"


@pytest.mark.parametrize("hiding", [None, HIDING])
def test_what_is_sealed_opens_in_its_place(hiding: Secret | None) -> None:
    sealing = Sealing("topic", SECRET, hiding)
    hidden = sealing.hidden(3, KEY, b"alice spent 3")
    sealed = sealing.sealed(3, 17, KEY, hidden)
    assert sealing.shown(3, KEY, sealing.unsealed(3, 17, KEY, sealed)) == b"alice spent 3"
    assert (b"alice" in sealed) == (hiding is None)
    assert (hidden == sealing.hidden(3, KEY, b"alice spent 3")) == (hiding is None)


@pytest.mark.parametrize(
    ("topic", "secret", "partition", "offset", "key", "changed"),
    [
        ("other", SECRET, 3, 17, KEY, b""),
        ("topic", HIDING, 3, 17, KEY, b""),
        ("topic", SECRET, 2, 17, KEY, b""),
        ("topic", SECRET, 3, 18, KEY, b""),
        ("topic", SECRET, 3, 17, b"1/1/0/1", b""),
        ("topic", SECRET, 3, 17, KEY, b"!"),
    ],
)
def test_it_opens_nowhere_else(
    topic: str, secret: Secret, partition: int, offset: int, key: bytes, changed: bytes
) -> None:
    sealed = Sealing("topic", SECRET).sealed(3, 17, KEY, b"alice") + changed
    with pytest.raises(ValueError, match="bears no seal"):
        Sealing(topic, secret).unsealed(partition, offset, key, sealed)


@pytest.mark.parametrize("content", [b"", b"short", bytes(16), bytes(200)])
def test_what_bears_no_seal_is_never_opened(content: bytes) -> None:
    with pytest.raises(ValueError, match="bears no seal"):
        Sealing("topic", SECRET).unsealed(3, 17, KEY, content)


def test_a_value_that_another_secret_has_encrypted_is_not_shown() -> None:
    hidden = Sealing("topic", SECRET, HIDING).hidden(3, KEY, b"alice")
    with pytest.raises(ValueError, match="another secret"):
        Sealing("topic", SECRET, SECRET).shown(3, KEY, hidden)
