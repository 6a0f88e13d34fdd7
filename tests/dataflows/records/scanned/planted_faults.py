"""Plant faults in a scanner that is not compiled, and print which of them random records find."""

import importlib
import sys
from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import orjson

from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.contributions import Contributions, SetContributions
from fugu.dataflows.records.numbers import Numbers
from fugu.dataflows.records.payloads import Payloads
from tests.dataflows.records.scanned.reading import ZONES, batch_of, is_read_alike_where_sure

_SCANNED = "fugu.dataflows.records.scanned."
_MOST_BATCHES, _RECORDS = 80, 150
_READERS = [
    Codec(domain, 400)
    for domain in (
        Contributions(None, None),
        Numbers("x", units_per_one=100),
        Payloads(["x"], null="as_none"),
        SetContributions(Alphabet("zone", ZONES)),
        Contributions(Alphabet("zone.zone", ZONES), None),
        Numbers("x[1]", units_per_one=100),
    )
]


def _table(name: str, some: bytes, entry: int) -> object:
    """A table of the scanner with another entry for some bytes."""
    table = getattr(importlib.import_module(_SCANNED + "compiled_texts"), name).copy()
    table[list(some)] = entry
    return table


FAULTS: dict[str, tuple[str, str, Callable[[], object]]] = {
    "texts with escapes": ("compiled_objects", "ESCAPED_TEXT", lambda: np.uint8(17)),
    "unknown escapes": ("compiled_texts", "_ESCAPED", lambda: _table("_ESCAPED", b"ax0' U", 1)),
    "escapes of any digits": (
        "compiled_texts",
        "_HEXADECIMAL",
        lambda: np.ones(256, dtype=np.uint8),
    ),
    "control characters": (
        "compiled_texts",
        "_CLASSES",
        lambda: _table("_CLASSES", bytes(range(32)), 0),
    ),
    "bytes that are no UTF-8": (
        "compiled_texts",
        "_CLASSES",
        lambda: _table("_CLASSES", bytes(range(128, 256)), 0),
    ),
    "characters of any length": (
        "compiled_texts",
        "_after_character",
        lambda: lambda _, at, end: at + 1,
    ),
    "numbers beyond doubles": ("compiled_texts", "OTHER_NUMBER", lambda: np.uint8(1)),
    "long integers": ("compiled_texts", "_INTEGER_DIGITS", lambda: 30),
    "decimals of many digits": ("compiled_texts", "_DECIMAL_DIGITS", lambda: 19),
    "other whitespace": ("compiled_objects", "_TAB", lambda: 11),
    "any name": ("compiled_objects", "_field_of", lambda: lambda *columns: len(columns[4]) - 1),
    "doubles near a half": ("compiled_values", "_CLEAR", lambda: 0.51),
    "items inside of items": ("spans", "_after_nested", lambda: lambda _, begin, end: begin + 1),
    "small payloads": ("compiled_values", "_SMALLEST", lambda: 20),
}
"""Module, name and what is there instead, where a scanner has the fault."""


def is_found(fault: str) -> bool:
    """Return whether random records show the fault."""
    module, name, instead = FAULTS[fault]
    with patch.object(importlib.import_module(_SCANNED + module), name, instead()):
        return any(
            not is_read_alike_where_sure(codec, batch)
            for batch in (batch_of(seed, _RECORDS) for seed in range(_MOST_BATCHES))
            for codec in _READERS
        )


if __name__ == "__main__":
    sys.stdout.buffer.write(orjson.dumps([fault for fault in FAULTS if is_found(fault)]))
