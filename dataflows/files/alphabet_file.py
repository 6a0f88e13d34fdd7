"""Read the symbols of a large alphabet from the file of `alphabet: {file: FILE}`.

A text file holds one symbol on each line: a whole number is an integer, any other line is text, and
so is a line in double quotes, as in JSON. Of a file that ends in .json, such as a model file, the
list under its key `alphabet` is taken.
"""

import re
from pathlib import Path

import orjson

from fugu.dataflows.base.section import INTEGERS

LARGEST_ALPHABET = 2**17
"""A promise beside the sink lists every symbol, and so does whatever is built for one."""
_LONGEST_INTEGER = 20
_WHOLE_NUMBER = re.compile(r"-?[1-9][0-9]*|0")


def read_alphabet(path: Path) -> object:
    """Return the symbols in order, not yet checked; `ValueError` says what is wrong."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ValueError(f"cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8 text") from None
    if path.suffix == ".json":
        return _under_its_key(text)
    lines = text.removesuffix("\n").split("\n") if text else []
    require_not_too_many(len(lines))
    return [_symbol(number, line) for number, line in enumerate(lines, start=1)]


def require_not_too_many(symbols: int) -> None:
    """Raise `ValueError` for more symbols than an alphabet may have, before one is looked at."""
    if symbols > LARGEST_ALPHABET:
        raise ValueError(
            f"lists {symbols:,} symbols, more than {LARGEST_ALPHABET:,}; let one symbol stand for "
            "all rare ones (other)"
        )


def _under_its_key(text: str) -> object:
    try:
        content = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno} is not valid JSON") from None
    if not isinstance(content, dict) or "alphabet" not in content:
        raise ValueError('has no key "alphabet"; write a JSON object with one, or a text file')
    return content["alphabet"]


def _symbol(number: int, line: str) -> str | int:
    if not line:
        raise ValueError(f"line {number} is empty; delete it")
    if line != line.strip():
        raise ValueError(
            f"line {number} begins or ends with a blank; delete it, or put the symbol in double "
            "quotes"
        )
    if line.startswith('"'):
        try:
            return str(orjson.loads(line))
        except orjson.JSONDecodeError:
            raise ValueError(f"line {number} is not a JSON text; end it with a quote") from None
    if not _WHOLE_NUMBER.fullmatch(line):
        return line
    if len(line) > _LONGEST_INTEGER or int(line) not in INTEGERS:
        raise ValueError(
            f"line {number} is an integer that does not fit into 64 bits; put it in double quotes "
            "to make it text"
        )
    return int(line)
