"""Ten million random records, read from columns by compiled code and from lists by orjson.

Writes `results/scanned_records.txt`, which is committed.
"""

from itertools import cycle, islice
from pathlib import Path

import pytest

from fugu.operators import compiled
from tests.dataflows.records.scanned.reading import (
    SCANNING,
    batch_of,
    is_read_alike_where_sure,
    read_differently,
    scattered,
)
from tests.dataflows.records.scanned.test_scanning import guarded

pytestmark = pytest.mark.skipif(not compiled.available(), reason="needs the extra fast")

RESULTS = Path(__file__).parent / "results" / "scanned_records.txt"
BATCHES, RECORDS, CODECS_EACH, FIRST_SEED = 500, 20_000, 5, 1_000


@pytest.mark.acceptance
def test_a_million_random_records_between_guards_are_read_to_their_bounds() -> None:
    done = guarded(FIRST_SEED, 1_000_000)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 800_000


@pytest.mark.acceptance
def test_ten_million_random_records_are_read_as_the_codec_reads_them() -> None:
    codecs, wrong = cycle(SCANNING), []
    sure = readings = 0
    for seed in range(FIRST_SEED, FIRST_SEED + BATCHES):
        batch = batch_of(seed, RECORDS)
        for codec in islice(codecs, CODECS_EACH):
            if not is_read_alike_where_sure(codec, batch):
                wrong.append((seed, codec, read_differently(codec, batch)))
            assert codec.scanner is not None
            sure += int(codec.scanner.read(scattered(batch.values)).sure.sum())
            readings += RECORDS
    of_codecs = f"each read by {CODECS_EACH} of {len(SCANNING)} codecs"
    lines = [
        f"{BATCHES * RECORDS:,} random records, {of_codecs}",
        "in turn, from columns by compiled code and from lists by orjson.",
        "",
        f"readings                     {readings:>12,}",
        f"sure, and compared           {sure:>12,}",
        f"batches in which they differ {len(wrong):>12,}",
    ]
    RESULTS.write_text("\n".join(lines) + "\n")
    assert wrong == []
