"""`fugu policy keys`: a person becomes an owner, and signs."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.policy_keys import keys
from fugu.dataflows.policies.signatures import Signatures, owner_with, read_private_key, signed
from tests.dataflows.policies.documents import DOCUMENT, read

KEY, VALUE = b"household/shower", b'{"effective": 7, "remove": true, "sequence": 1}'


def test_the_printed_line_makes_an_owner_whose_signature_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "alice.pem"
    keys(path, "alice")
    document = read(tmp_path, capsys.readouterr().out + DOCUMENT)
    private = read_private_key(path)
    name = owner_with(private, document)
    header = signed("changes", KEY, VALUE, private, name)
    assert name == "alice"
    assert Signatures(document, "changes").by_owner(KEY, VALUE, [header])
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_key_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "alice.pem"
    keys(path)
    before = path.read_bytes()
    with pytest.raises(ConfigurationError, match="is there already"):
        keys(path)
    assert path.read_bytes() == before


def test_a_name_that_no_signature_could_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="--name: use letters"):
        keys(tmp_path / "alice.pem", "alice b")
    assert not (tmp_path / "alice.pem").exists()


def test_a_key_of_nobody_in_the_document_is_named(tmp_path: Path) -> None:
    keys(tmp_path / "stranger.pem")
    private = read_private_key(tmp_path / "stranger.pem")
    with pytest.raises(ConfigurationError, match=r"add \{name: \.\.\., ed25519: .{43}=\}"):
        owner_with(private, read(tmp_path))


def test_what_is_no_key_is_refused_and_not_shown(tmp_path: Path) -> None:
    rsa = generate_private_key(65537, 2048)
    for content in (
        b"canary",
        rsa.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
    ):
        (tmp_path / "key").write_bytes(content)
        with pytest.raises(ConfigurationError, match="holds no Ed25519 key") as caught:
            read_private_key(tmp_path / "key")
        assert "canary" not in str(caught.value)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_private_key(tmp_path / "nowhere")
