"""Write coordinates into a line of the log, and never the text of an exception."""

import logging
from collections.abc import Iterator

import orjson
import pytest

from fugu.dataflows.base import logs

CANARY = "canary-value"


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root, package = logging.getLogger(), logging.getLogger("fugu")
    before = root.handlers[:], root.level, package.level
    yield
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    package.setLevel(before[2])
    logging.captureWarnings(False)


def failing(log: logging.Logger) -> None:
    """Log an exception whose text repeats a value."""
    try:
        raise ValueError(CANARY)
    except ValueError:
        log.exception("a batch failed")


@pytest.mark.parametrize("log_format", ["json", "plain"])
def test_the_name_of_a_file_that_is_no_text_is_logged_all_the_same(
    log_format: logs.LogFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    root = logging.getLogger()
    of_pytest = root.handlers[:]
    logs.configure(log_format)
    root.handlers[:] = [one for one in root.handlers if one not in of_pytest]
    logging.getLogger("fugu").warning("cannot read %s", "a\udc80\x1b")
    said = capsys.readouterr().err
    message = orjson.loads(said)["message"] if log_format == "json" else said
    assert "cannot read a\\udc80" in message
    assert "\x1b" not in said


def test_json_line_has_time_level_message_and_coordinates(
    capsys: pytest.CaptureFixture[str],
) -> None:
    logs.configure("json")
    log = logging.getLogger("fugu.dataflows.kafka.sink")
    log.warning("read %d", 3, extra={"topic": "raw", "partition": 2, "offset": 17, "key": CANARY})
    line = orjson.loads(capsys.readouterr().err)
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "warning",
        "message": "read 3",
        "topic": "raw",
        "partition": 2,
        "offset": 17,
    }


def test_every_line_says_which_of_several_processes_it_is_from(
    capsys: pytest.CaptureFixture[str],
) -> None:
    logs.configure("json", 1)
    logging.getLogger("fugu.dataflows.run.run").info("stopped")
    logs.report("cannot go on")
    lines = [orjson.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["process"] for line in lines] == [1, 1]
    logs.configure("plain", 1)
    logging.getLogger("fugu.dataflows.run.run").info("stopped")
    logs.report("cannot go on")
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith("INFO process 1: stopped")
    assert second == "fugu: process 1: cannot go on"


@pytest.mark.parametrize("log_format", ["plain", "json"])
def test_exception_is_a_type_and_a_place(
    log_format: logs.LogFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.configure(log_format)
    failing(logging.getLogger("some.library"))
    said = capsys.readouterr().err
    assert "a batch failed" in said
    assert f"ValueError at {__file__}:" in said
    assert CANARY not in said


def test_configuring_again_replaces_the_format(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("plain")
    logs.configure("json")
    logging.getLogger("fugu").info("once")
    assert orjson.loads(capsys.readouterr().err)["message"] == "once"


def test_chatter_of_libraries_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("json")
    logging.getLogger("asyncio").info("selecting")
    assert capsys.readouterr().err == ""


def test_failure_of_a_command_is_a_line_too(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("json")
    logs.report("topic raw does not exist")
    line = orjson.loads(capsys.readouterr().err)
    assert (line["level"], line["message"]) == ("error", "topic raw does not exist")
    logs.configure("plain")
    logs.report("topic raw does not exist")
    assert capsys.readouterr().err == "fugu: topic raw does not exist\n"
