"""A secret shows nowhere: not in text, not in a traceback, not in what is stored."""

import copy
import io
import logging
import pickle
import traceback
from dataclasses import asdict

import pytest

from fugu.operators.randomness import DrawScope, Secret, record_positions

KEY = b"canary-key-of-exactly-32-bytes!!"
SECRET = Secret(KEY)
SCOPE = DrawScope(SECRET, "pipeline", "operator", 1, bytes(32))


def shows(text: str) -> bool:
    """Return whether any recognisable part of the key is in `text`."""
    parts = [KEY[start : start + 6] for start in range(0, len(KEY) - 5)]
    return any(part.decode() in text or part.hex() in text for part in parts)


def test_the_canary_would_be_noticed() -> None:
    assert shows(repr(KEY))
    assert shows(KEY.hex())


@pytest.mark.parametrize("size", [0, 1, 31, 33, 64])
def test_a_key_of_the_wrong_size_is_refused_without_being_shown(size: int) -> None:
    with pytest.raises(ValueError, match=f"has 32 bytes, this one has {size}") as refused:
        Secret((KEY * 2)[:size])
    assert not shows(str(refused.value))


def test_text_of_a_secret_hides_it() -> None:
    shown = [repr(SECRET), str(SECRET), f"{SECRET}", f"{SECRET!r}", "%s" % SECRET, repr([SECRET])]  # noqa: UP031
    assert not any(map(shows, shown))


def test_text_of_whatever_holds_a_secret_hides_it() -> None:
    draws = SCOPE.draws([b"alice"], record_positions("t", 0, [0]))
    assert not shows(repr(SCOPE) + repr(draws) + repr(vars(draws)))
    SCOPE.release_ids("release", "t", 0, [0])
    assert not shows(repr(vars(SCOPE)))


def test_a_secret_has_no_dictionary_of_attributes() -> None:
    with pytest.raises(TypeError):
        vars(SECRET)


def test_a_log_line_hides_it(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("fugu").warning("scope %s of %r", SCOPE, SECRET)
    assert "Secret(hidden)" in caplog.text
    assert not shows(caplog.text)


def test_a_traceback_hides_it_even_with_local_variables() -> None:
    try:
        SCOPE.draws([b"alice"], record_positions("t", 0, [0])).words("w", [])
    except ValueError as error:
        report = traceback.TracebackException.from_exception(error, capture_locals=True)
    text = "".join(report.format())
    assert "one binding for each row" in text
    assert not shows(text)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_secret_cannot_be_pickled(protocol: int) -> None:
    stored = io.BytesIO()
    with pytest.raises(TypeError, match="never stored"):
        pickle.Pickler(stored, protocol).dump(SECRET)
    assert KEY not in stored.getvalue()


def test_whatever_holds_a_secret_cannot_be_stored_either() -> None:
    SCOPE.release_ids("release", "t", 0, [0])
    draws = SCOPE.draws([b"alice"], record_positions("t", 0, [0]))
    for holder in (SCOPE, draws):
        with pytest.raises(TypeError):
            pickle.dumps(holder)
    for attempt in (copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="never stored"):
            attempt(SECRET)
    with pytest.raises(TypeError, match="never stored"):
        asdict(SCOPE)


def test_sub_keys_and_check_values_differ_by_secret_and_purpose() -> None:
    others = [
        SECRET.derive("a"),
        SECRET.derive("b"),
        SECRET.derive("a").derive("a"),
        Secret(KEY[::-1]),
    ]
    checks = [secret.check_value() for secret in [SECRET, *others]]
    assert len(set(checks)) == 5
    assert SECRET.derive("a").check_value() == checks[1]
    assert not any(map(shows, checks))
