"""Scan random records each of which lies between two pages that nobody may read.

A byte before a record, or behind it, ends the process by SIGSEGV. Results are those of the same
records in ordinary memory, or the program fails.

    python -m tests.dataflows.records.scanned.guarded FIRST_SEED RECORDS [BYTES_TOO_MANY]
"""

import ctypes
import mmap
import sys
from collections.abc import Iterator, Sequence
from itertools import count, cycle, islice

import numpy as np

from fugu.dataflows.base.columns import OptionalByteColumn
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.payloads import LARGEST_PAYLOAD_BYTES, Payloads
from fugu.dataflows.records.scanned.compiled_values import sift_payloads
from fugu.dataflows.records.scanned.spans import FieldNames, Spans
from fugu.operators.columns import Bytes
from fugu.operators.mechanism import Array
from tests.dataflows.records.scanned.random_records import RandomRecords
from tests.dataflows.records.scanned.reading import KEYED, SCANNING, scattered

RECORDS_AT_ONCE, CODECS_EACH = 2_000, 5
_PAGE = mmap.PAGESIZE
_PROT_NONE = 0
_FILLING = b'"}]}0e5u0041\\"'
"""Between a record at the beginning of its page and the end: what would complete it."""


class GuardedPages:
    """Hold pages for records, with one before and one behind each that cannot be touched."""

    def __init__(self, records: int) -> None:
        self._memory = mmap.mmap(-1, (2 * records + 1) * _PAGE)
        self._content: Bytes = np.frombuffer(self._memory, dtype=np.uint8)
        libc = ctypes.CDLL(None, use_errno=True)
        for page in range(0, 2 * records + 1, 2):
            address = ctypes.c_void_p(self._content.ctypes.data + page * _PAGE)
            if libc.mprotect(address, ctypes.c_size_t(_PAGE), _PROT_NONE) != 0:
                raise OSError(ctypes.get_errno(), "mprotect")

    def column(
        self, records: Sequence[bytes], *, at_end: bool, too_many: int
    ) -> OptionalByteColumn:
        """Put records in front of the page behind each, or else behind the page before."""
        begins, filling = [], _FILLING * (_PAGE // len(_FILLING) + 1)
        for number, record in enumerate(records):
            page, spare = (2 * number + 1) * _PAGE, _PAGE - len(record)
            begin = page + spare if at_end else page
            rest = b"" if at_end else filling[:spare]
            self._content[begin : begin + len(record) + len(rest)] = bytearray(record + rest)
            begins.append(begin)
        lengths = np.array([len(record) + too_many for record in records])
        return OptionalByteColumn(self._content, np.array(begins), lengths)


def look_at(first_seed: int, records: int, too_many: int = 0) -> int:
    """Scan so many records between guards; return how many readings were sure."""
    pages, codecs, sure = GuardedPages(RECORDS_AT_ONCE), cycle([*SCANNING, *KEYED]), 0
    rounds = islice(count(), -(-records // RECORDS_AT_ONCE))
    for number in rounds:
        some = list(_records(first_seed + number, min(RECORDS_AT_ONCE, records)))
        for at_end in (True, False):
            column = pages.column(some, at_end=at_end, too_many=too_many)
            for codec in islice(codecs, CODECS_EACH):
                read = sifted if isinstance(codec.domain, Payloads) else scanned
                found, expected = read(codec, column), read(codec, scattered(some))
                places = np.flatnonzero(found[0])
                assert found[0].tolist() == expected[0].tolist()
                for one, other in zip(found[1:], expected[1:], strict=True):
                    assert one[places].tolist() == other[places].tolist()
                sure += len(places)
    return sure


def scanned(codec: Codec, records: OptionalByteColumn) -> list[Array]:
    """Which records are sure, and what is read of them."""
    assert codec.scanner is not None
    found = codec.scanner.read(records)
    columns = (found.values, found.times, found.events)
    return [found.sure, *(one for one in columns if one is not None)]


def sifted(codec: Codec, records: OptionalByteColumn) -> list[Array]:
    """Which records are sure to hold a payload; numpy copies all that is between two of them."""
    field = codec.domain.field
    spans = Spans(records, codec.max_value_bytes, FieldNames.of([field]))
    sift_payloads(*spans.of(field), True, LARGEST_PAYLOAD_BYTES)
    return [spans.sure]


def _records(seed: int, wanted: int) -> Iterator[bytes]:
    some = (one for one in RandomRecords(seed).some(2 * wanted) if one is not None)
    return islice((one for one in some if len(one) <= _PAGE), wanted)


if __name__ == "__main__":
    print(look_at(*map(int, sys.argv[1:])))
