"""Show text of others on a terminal: what would steer the terminal is written out instead.

Names and values of topics, schemas, policies and files may hold escape sequences, or characters
that turn the direction of writing.
"""

import re

_STEERS = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f"
)
_STEERING = re.compile(f"[{_STEERS}]")
_FIRST_OF_FOUR, _FIRST_OF_EIGHT = 0x100, 0x10000


def visible(text: str) -> str:
    r"""Return a text with lines and tabs, in which nothing else steers a terminal.

    >>> visible("a\x1b[31mred\u202e")
    'a\\x1b[31mred\\u202e'
    """
    return text if text.isprintable() else _STEERING.sub(_written_out, text)


def visible_json(line: str) -> str:
    r"""Return a document of JSON that means the same, and steers no terminal.

    >>> visible_json('{"key":"a\u202e\x7f"}')
    '{"key":"a\\u202e\\u007f"}'
    """
    return line if line.isprintable() else _STEERING.sub(_escaped, line)


def _written_out(found: re.Match[str]) -> str:
    number = ord(found[0])
    if number < _FIRST_OF_FOUR:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < _FIRST_OF_EIGHT else f"\\U{number:08x}"


def _escaped(found: re.Match[str]) -> str:
    halves = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{halves[i : i + 2].hex()}" for i in range(0, len(halves), 2))
