"""Compare what compiled code reads from columns of bytes with what the codec reads."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from fugu.dataflows.records.alphabet import Alphabet
from fugu.dataflows.records.codec import WORTH_SCANNING, Codec
from fugu.dataflows.records.contributions import Contributions
from fugu.dataflows.records.json_fields import FieldTimestamp
from fugu.dataflows.records.numbers import Numbers
from fugu.dataflows.records.symbols import Symbols
from fugu.operators import compiled
from tests.dataflows.records.scanned.planted_faults import FAULTS
from tests.dataflows.records.scanned.reading import (
    CODECS,
    DOMAINS,
    KEYED,
    LARGEST_VALUE,
    SCANNING,
    ZONES,
    batch_of,
    batch_with,
    is_read_alike,
    is_read_alike_where_sure,
    read_differently,
    scattered,
)
from tests.thinned import first_in_test

pytestmark = pytest.mark.skipif(not compiled.available(), reason="needs the extra fast")

SPECIAL = [
    b'{"zone":"rest","x":1,"at":0}',
    b'{"zone":"caf\xc3\xa9","x":-0,"at":-0}',
    b'{"zone":"rest","zone":"light","x":1,"x":2,"at":5}',
    b'{"zone":["rest"],"zone":"rest","x":{},"x":1,"at":1}',
    b'{"zone":"rest","zone":["rest","light"],"x":1,"x":[1,2],"at":1}',
    b'{"zone":"rest","z\\u006fne":"light","x":1,"at":1}',
    b'{"zone":[],"x":[],"at":1}',
    b'{"zone":[ "rest" , "r\\u0065st" ],"x":[ 1 , 2.0 ],"at":1}',
    b'{"zone":[["rest"]],"x":[true],"at":1}',
    b'{"x":0.125,"zone":"rest","at":1}',
    b'{"x":-0.125,"zone":"rest","at":1}',
    b'{"x":0.12499999999999999,"zone":"rest","at":1}',
    b'{"x":4398046511104.005,"zone":"rest","at":1}',
    b'{"x":2305843009213693951.5,"zone":"rest","at":1}',
    b'{"x":71.50,"zone":"rest","at":1}',
    b'{"x":0.00001,"zone":"rest","at":1}',
    b'{"x":123456789012345.0,"zone":"rest","at":1}',
    b'{"x":1e3,"zone":"rest","at":1}',
    b'{"x":null,"zone":null,"at":null}',
    b'{"x":true,"zone":"rest","at":253402300799999}',
    b'{"x":false,"zone":"rest","at":253402300800}',
    b'{"x":999999999999999999,"zone":"rest","at":999999999999999999}',
    b'{"x":18446744073709551615,"zone":"rest","at":18446744073709551615}',
    b'{"x":1,"zone":"rest","at":"%b"}' % (b"e" * 200),
    b'{"x":1,"zone":"%b","at":1}' % (b"z" * (LARGEST_VALUE - 23)),
    b'{"x":1,"zone":"%b","at":1}' % (b"z" * (LARGEST_VALUE - 22)),
    b'{"x":1,"zone":"rest","at":1,"\\ud83d\\ude00":"\\ud83d\\ude00"}',
    b'{"x":1,"zone":"rest","at":1,"deep":%b%b}' % (b"[" * 59, b"]" * 59),
    b'{"x":1,"zone":"rest","at":1,"deep":%b%b}' % (b"[" * 60, b"]" * 60),
    b'{"x":1,"zone":"rest","at":1}\x00',
    b'{"x":1,"zone":"rest","at":1',
    b'{"x":1,"zone":"rest","at":1}}',
    b'{"x":1,"zone":"rest","at":1,}',
    b'{"x":1 "zone":"rest","at":1}',
    b'\xef\xbb\xbf{"x":1,"zone":"rest","at":1}',
    b"{}",
    b"{",
    b"}",
    b'{"',
    b'{"\\',
    b'{"x":"\\u',
    b'{"x":-',
    b'{"x":t',
    b'{"x":"\xf0\x9f\x90',
    b"[]",
    b"1",
    b" ",
    b"",
    None,
]
ORDINARY = [
    b'{"zone":"light","x":1,"at":1700000000}',
    b' { "note": "na\xc3\xafve \\u00e9\\n", "tags": [1, {"a": [true, null]}], "zone" : "rest" ,\r\n'
    b'\t"at": 12, "x": 1, "y": -1.5e-3 } ',
]


@pytest.mark.slow
@pytest.mark.parametrize("seed", first_in_test(range(2), 1))
def test_columns_are_read_as_lists(seed: int) -> None:
    batch = batch_of(seed, 400)
    for codec in [*CODECS, *KEYED]:
        assert is_read_alike(codec, batch), (codec, read_differently(codec, batch))


@pytest.mark.slow
def test_what_the_scanner_is_sure_of_the_codec_accepts_and_reads_alike() -> None:
    batch = batch_of(7, 3_000)
    for codec in SCANNING:
        assert is_read_alike_where_sure(codec, batch), (codec, read_differently(codec, batch))


def test_special_records_are_read_alike() -> None:
    for codec in [*CODECS, *KEYED]:
        batch = batch_with(SPECIAL)
        assert is_read_alike(codec, batch), (codec, read_differently(codec, batch))


@pytest.mark.parametrize("record", ORDINARY)
def test_ordinary_records_are_left_to_nobody(record: bytes) -> None:
    for codec in (Codec(Symbols("zone", ZONES), 400), *SCANNING):
        assert codec.scanner is not None
        accepted = len(codec.decode(batch_with([record] * WORTH_SCANNING)).offsets) > 0
        found = codec.scanner.read(scattered([record]))
        assert found.sure.tolist() == [accepted], codec


def test_all_domains_but_payloads_of_several_fields_are_scanned() -> None:
    left = [domain for domain in DOMAINS if Codec(domain, 400).scanner is None]
    assert [domain.field for domain in left] == ["zone", "zone.zone"]
    assert len(SCANNING) == len(CODECS) - 2 * 5


def test_nested_fields_are_left_to_nobody() -> None:
    codec = Codec(
        Contributions(
            Alphabet("data.hearts[1].`a.zone`", ZONES), Numbers("data.x", units_per_one=1)
        ),
        LARGEST_VALUE,
        FieldTimestamp("meta.at", 1),
        "id",
        ("data.x",),
    )
    record = (
        b'{"id":"e","data":{"data":{"x":9},"zone":"rest","hearts": [ {"a.zone":"x]"} , '
        b'{"a":{"zone":1},"a.zone":"light"}],"x":1},"meta":{"at":3}}'
    )
    assert codec.scanner is not None
    found = codec.scanner.read(scattered([record]))
    assert found.sure.all()
    assert found.values.tolist() == [[1, 1]]
    assert is_read_alike(codec, batch_with([record] * WORTH_SCANNING))


def test_of_two_objects_of_one_name_the_last_one_counts() -> None:
    codec = Codec(Symbols("zone.zone", ZONES), LARGEST_VALUE)
    for record in (
        b'{"zone":{"zone":"rest"},"zone":{}}',
        b'{"zone":{"zone":"rest"},"zone":1}',
        b'{"zone":{"zone":"rest"},"zone":{"zone":"light"}}',
        b'{"zone":{"zone":"rest","zone":"light"},"x":{"zone":"vigorous"}}',
        b'{"zone":[{"zone":"rest"}]}',
    ):
        assert is_read_alike(codec, batch_with([record] * WORTH_SCANNING)), record


def test_events_of_every_length_have_their_digest() -> None:
    codec = Codec(Contributions(None, None), 2_000, None, "zone")
    batch = batch_with([b'{"zone":"%b"}' % (b"e" * length) for length in range(1_100)])
    assert is_read_alike(codec, batch)


class Upside(Symbols):
    """Reads a symbol in a way of its own."""

    def read(self, record: dict[str, object]) -> int:
        return self.size - 1 - super().read(record)


def test_a_domain_that_reads_in_a_way_of_its_own_is_not_scanned() -> None:
    assert Codec(Upside("zone", ZONES), 400).scanner is None


@pytest.mark.slow
def test_no_record_is_read_beyond_its_bounds(tmp_path: Path) -> None:
    program = (
        "from tests.dataflows.records.scanned.reading import *\n"
        "for codec in SCANNING:\n"
        "    assert is_read_alike_where_sure(codec, batch_of(5, 1_000)), codec\n"
    )
    environment = {"NUMBA_BOUNDSCHECK": "1", "FUGU_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], env={**os.environ, **environment}, check=True)


def guarded(first_seed: int, records: int, too_many: int = 0) -> "subprocess.CompletedProcess[str]":
    """Scan records between pages that nobody may read."""
    program = [sys.executable, "-m", "tests.dataflows.records.scanned.guarded"]
    arguments = map(str, (first_seed, records, too_many))
    return subprocess.run([*program, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_compiled_code_touches_no_byte_beside_a_record() -> None:
    done = guarded(1, 20_000)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 15_000


@pytest.mark.slow
def test_a_byte_too_many_ends_the_process_by_its_guard() -> None:
    assert guarded(1, 2_000, too_many=1).returncode == -signal.SIGSEGV


@pytest.mark.slow
def test_random_records_find_every_planted_fault() -> None:
    """Without a compiler: so a constant of the scanner can be another one."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.dataflows.records.scanned.planted_faults"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        check=True,
    )
    assert orjson.loads(done.stdout) == list(FAULTS)
