"""How compiled steps are compiled."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fugu.operators import compiled
from fugu.operators.mechanism import Floats

pytestmark = pytest.mark.skipif(not compiled.available(), reason="needs the extra fast")


def test_the_cache_knows_every_file_with_compiled_code() -> None:
    from fugu.operators.compiled import compiling

    package = Path(compiling.__file__).parents[2]
    known = {path.resolve() for path in compiling.sources()}
    compiled_files = {
        path.resolve()
        for top in ("operators", "dataflows")
        for path in (package / top).rglob("*.py")
        if "compiled.compiling import" in path.read_text()
    }
    assert compiled_files
    assert compiled_files <= known


def test_compiled_code_counts_no_rows_of_tables() -> None:
    from fugu.operators.compiled.compiling import part

    def total(row: Floats) -> float:
        added = 0.0
        for number in row:
            added += number
        return added

    total_of = part(total)

    def totals(table: Floats, sums: Floats) -> None:
        for number in range(len(table)):
            sums[number] = total_of(table[number])

    totals_of: Any = part(totals)
    sums = np.zeros(3)
    totals_of(np.arange(6.0).reshape(3, 2), sums)
    assert sums.tolist() == [1.0, 5.0, 9.0]
    [machine_code] = totals_of.inspect_asm().values()
    assert "NRT_" not in machine_code
