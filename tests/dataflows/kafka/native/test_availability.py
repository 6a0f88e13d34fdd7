"""Before librdkafka is used by compiled code, records of every shape went through it and back."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fugu.dataflows.kafka.native import availability, library, messages, self_test
from fugu.dataflows.kafka.native.messages import KEY_LENGTH, OFFSET, TIMESTAMP, VALUE_LENGTH, copy
from fugu.operators.compiled import folders


def test_what_is_installed_here_passes() -> None:
    assert self_test.difference() is None


@pytest.mark.parametrize("row", [OFFSET, TIMESTAMP, KEY_LENGTH, VALUE_LENGTH])
def test_a_field_that_lies_elsewhere_is_found(row: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(availability, "_is_remembered", lambda mark: False)
    monkeypatch.setattr(messages, "copy", with_fault(copy, row))
    said = availability.refusal.__wrapped__()
    assert said is not None
    assert "self-test" in said or "not read as it was sent" in said


def with_fault(right: Any, row: int) -> Any:
    def copied(*arguments: Any) -> bool:
        done: bool = right(*arguments)
        arguments[2][row, 0] += 1
        return done

    return copied


def test_another_major_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Newer:
        def rd_kafka_version(self) -> int:
            return 0x030000FF

    monkeypatch.setattr(library, "library", Newer)
    monkeypatch.setattr(library, "version", lambda: "3.0.0")
    assert availability.refusal.__wrapped__() == "librdkafka 3.0.0 is none of version 2"


def test_a_missing_function_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def load() -> Any:
        raise AttributeError("undefined symbol: rd_kafka_produceva")

    monkeypatch.setattr(library, "library", load)
    said = availability.refusal.__wrapped__()
    assert said is not None
    assert "undefined symbol: rd_kafka_produceva" in said


def test_a_test_that_was_passed_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes: list[str | None] = ["records differ", None]
    monkeypatch.setattr(folders, "folders", lambda: (tmp_path / "new",))
    monkeypatch.setattr(self_test, "difference", lambda: outcomes.pop(0))
    asked = [availability.refusal.__wrapped__() for _ in range(3)]
    assert asked == ["records differ", None, None]


def test_a_test_is_passed_again_where_nothing_can_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    outcomes: list[str | None] = [None, None]
    monkeypatch.setattr(folders, "folders", lambda: (tmp_path / "file" / "new",))
    monkeypatch.setattr(self_test, "difference", lambda: outcomes.pop(0))
    assert [availability.refusal.__wrapped__() for _ in range(2)] == [None, None]
    assert outcomes == []


def test_a_folder_that_cannot_be_looked_into_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as the home folder of another user; here, its name is too long for any."""
    outcomes: list[str | None] = [None, None]
    monkeypatch.setattr(folders, "folders", lambda: (tmp_path / ("n" * 300),))
    monkeypatch.setattr(self_test, "difference", lambda: outcomes.pop(0))
    assert [availability.refusal.__wrapped__() for _ in range(2)] == [None, None]


@pytest.mark.slow
def test_no_array_is_left_under_bounds_checks(tmp_path: Path) -> None:
    code = "from fugu.dataflows.kafka.native.self_test import difference; print(difference())"
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "FUGU_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert (done.stdout, done.returncode) == ("None\n", 0), done.stderr
