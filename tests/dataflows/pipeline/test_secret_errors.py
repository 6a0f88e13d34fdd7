"""A missing or unusable secret is an error before anything is read, and is never shown."""

import os
from pathlib import Path

import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.pipeline.secrets import keys_after, read_keys, read_policy_secret, write_keys
from fugu.operators.keys import Keys
from fugu.operators.randomness import Secret
from tests.dataflows.kinds.example_files import example_of
from tests.dataflows.kinds.test_aggregate_section import PIPELINE
from tests.dataflows.pipeline.pipeline_files import read, with_change

VARIABLE = "FUGU_TEST_SECRET"
CANARY = "c0ffee"


def from_environment(encoding: str) -> str:
    return with_change(f"env: {VARIABLE}", f"env: {VARIABLE}\n  encoding: {encoding}")


def from_file(encoding: str) -> str:
    return with_change(f"env: {VARIABLE}", f"file: key\n  encoding: {encoding}")


@pytest.mark.parametrize(
    ("encoding", "content", "says"),
    [
        ("hex", b"", "is not set"),
        ("hex", CANARY.encode() * 10, "holds 30 bytes, but 32 are needed"),
        ("hex", CANARY.encode() + b"zz" * 29, "is not valid hex"),
        ("hex", CANARY.encode() + b"\xff\xfe" * 29, "is not valid hex"),
        ("base64", CANARY.encode() + b"====", "is not valid base64"),
        ("base64", CANARY.encode() + b"ab", "holds 6 bytes, but 32 are needed"),
    ],
)
def test_an_unusable_variable_is_refused_and_not_shown(
    encoding: str, content: bytes, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environb, VARIABLE.encode(), content)
    with pytest.raises(ConfigurationError) as caught:
        read_keys(read(tmp_path, from_environment(encoding)))
    error = caught.value
    assert f"environment variable {VARIABLE} {says}" in str(error)
    assert "make one with" in str(error)
    assert CANARY not in str(error)
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None


def test_a_secret_in_the_place_of_the_name_of_a_variable_is_refused_and_not_shown(
    tmp_path: Path,
) -> None:
    for secret in (CANARY * 10 + "cafe", "q" * 43 + "="):
        with pytest.raises(ConfigurationError, match="write the name of an env") as caught:
            read(tmp_path, with_change(f"env: {VARIABLE}", f"env: {secret}"))
        assert secret not in str(caught.value)


@pytest.mark.parametrize(
    ("encoding", "content", "says"),
    [
        ("hex", None, "cannot be read"),
        ("hex", b"", "holds 0 bytes"),
        ("raw", b"k" * 31, "holds 31 bytes"),
        ("raw", b"k" * 32 + b"\n", "holds 33 bytes"),
        ("hex", b"\xff" * 64, "is not valid hex"),
    ],
)
def test_an_unusable_file_is_refused(
    encoding: str, content: bytes | None, says: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "key").write_bytes(content)
    with pytest.raises(ConfigurationError, match=says):
        read_keys(read(tmp_path, from_file(encoding)))


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("raw", bytes(range(32))),
        ("hex", bytes(range(32)).hex().encode() + b"\n"),
        ("base64", b"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"),
    ],
)
def test_every_encoding_gives_the_same_secret(
    encoding: str, content: bytes, tmp_path: Path
) -> None:
    (tmp_path / "key").write_bytes(content)
    secret = read_keys(read(tmp_path, from_file(encoding))).noise
    assert secret.check_value() == Secret(bytes(range(32))).check_value()
    assert repr(secret) == "Secret(hidden)"


@pytest.mark.parametrize(("encoding", "zeros"), [("raw", bytes(32)), ("hex", b"0" * 64)])
def test_a_secret_of_zeros_is_refused_and_can_be_left(
    encoding: str, zeros: bytes, tmp_path: Path
) -> None:
    (tmp_path / "key").write_bytes(zeros)
    file = read(tmp_path, from_file(encoding))
    with pytest.raises(ConfigurationError, match="holds zeros only: everybody can repeat") as zero:
        read_keys(file)
    assert "fugu state rotate" in str(zero.value)
    before, path = read_keys(file, to_leave_them=True), tmp_path / "new"
    after = keys_after(before, path)
    assert after.noise.check_value() != before.rotated().noise.check_value(), "anybody derives it"
    assert after.pseudonyms.check_value() == before.pseudonyms.check_value()
    write_keys(after, path)
    again = keys_after(before, path)
    assert again.noise.check_value() == after.noise.check_value(), "an interrupted one goes on"
    assert again.epoch == after.epoch == 1


def test_other_secrets_are_followed_by_what_is_derived_from_them(tmp_path: Path) -> None:
    keys = Keys.from_root(Secret(bytes(range(32))))
    after = keys_after(keys, tmp_path / "new")
    assert after.noise.check_value() == keys.rotated().noise.check_value()


def test_zeros_do_not_sign_changes_of_policies(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"0" * 64)
    source = PIPELINE["source"] | {"policies": {"topic": "changes", "hmac": {"file": "key"}}}
    file = example_of("unicorn", tmp_path, source=source)
    with pytest.raises(ConfigurationError, match=r"source\.policies\.hmac: .* zeros only"):
        read_policy_secret(file)
