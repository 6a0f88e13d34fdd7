"""Text of others steers no terminal, wherever it is shown."""

import logging
import re
from io import StringIO

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.dataflows.base.errors import KafkaUnavailable
from fugu.dataflows.base.logs import JsonFormatter, PlainFormatter
from fugu.dataflows.base.printable import visible, visible_json
from fugu.dataflows.commands.output import Terminal, folding_table, print_json, print_json_line, say

HOSTILE = "\x1b[2Jgone\x1b]8;;http://x\x07\u202enot\u2066 \x9b31m\x7f\r\u200b\U000e0041"
STEERING = [*map(chr, [*range(9), *range(11, 32), *range(0x7F, 0xA0)]), *"\u061c\u202a\u202e\u2069"]


def steers(text: str) -> bool:
    return any(character in text for character in STEERING)


@given(st.text())
def test_lines_and_tabs_stay_and_nothing_else_that_steers(text: str) -> None:
    shown = visible(text)
    assert not steers(shown)
    shown.encode()
    assert (shown.count("\n"), shown.count("\t")) == (text.count("\n"), text.count("\t"))
    assert visible(shown) == shown


def test_text_for_people_is_left_as_it_is() -> None:
    text = "Größe: 3 µs → 4 … 日本語 עברית\n\tdone"
    assert visible(text) == text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_document_means_the_same(text: str) -> None:
    line = visible_json(orjson.dumps({"key": text}).decode())
    assert orjson.loads(line) == {"key": text}
    assert not steers(line)


@pytest.mark.parametrize("form", [PlainFormatter(), JsonFormatter()])
def test_no_log_line_steers(form: logging.Formatter) -> None:
    record = logging.LogRecord("fugu", logging.ERROR, "", 1, "topic %s", (HOSTILE,), None)
    line = form.format(record)
    assert not steers(line)
    assert "gone" in line


def test_no_error_steers() -> None:
    assert not steers(f"{KafkaUnavailable(f'topic {HOSTILE} is away')}")
    assert not steers(str(KafkaUnavailable(HOSTILE)))


@pytest.mark.parametrize("colours", [True, False])
def test_no_table_steers_but_by_its_own_colours(*, colours: bool) -> None:
    file = StringIO()
    terminal = Terminal(file=file, force_terminal=colours, width=200)
    table = folding_table(f"column {HOSTILE}", title=HOSTILE)
    table.add_row(HOSTILE)
    terminal.print(table)
    terminal.print(HOSTILE)
    shown = file.getvalue()
    shown = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert shown.count("gone") == 4
    assert not steers(shown)


def test_nothing_that_is_printed_steers(capsys: pytest.CaptureFixture[str]) -> None:
    say(HOSTILE)
    print_json({HOSTILE: HOSTILE})
    print_json_line([HOSTILE])
    assert not steers(capsys.readouterr().out)
