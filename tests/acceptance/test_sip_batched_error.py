"""The batched columns of section 10 of the SIP specification, in full length.

Writes `results/sip_batched_error.txt`, which is committed.
"""

from pathlib import Path

import pytest

from tests.operators.sip.batches.batched_chain import COLUMNS, TABLE, Cell, measure_batches
from tests.operators.sip.binary_chain import PRINTED_STEPS

RESULTS = Path(__file__).parent / "results" / "sip_batched_error.txt"
HEADER = [
    "Mean |x - y| of 40 binary sequences of 10,000 steps, in batches, +- standard error; in",
    "brackets, what the specification (section 10) prints. b2, b3: 2 and 3 symbols with epsilon",
    "for each of them; (e): for the whole batch.",
    "",
    "case  eps  " + "  ".join(f"{column.name:<25}" for column in COLUMNS),
]


@pytest.mark.acceptance
def test_long_run_errors_of_batches_are_those_of_section_10() -> None:
    lines, wrong = [], []
    for case, epsilon in TABLE:
        shown = []
        for column in COLUMNS:
            cell = Cell(case, epsilon, column)
            measured = measure_batches(cell, steps=PRINTED_STEPS, seed=3)
            shown.append(
                f"{measured.error:.4f} +-{measured.standard_error:.4f} [{cell.printed:.4f}]"
            )
            within = measured.leakage <= column.epsilon_per_batch(epsilon) + 1e-9
            if not within or not measured.agrees_with(cell.printed, PRINTED_STEPS):
                wrong.append((case, epsilon, column.name, shown[-1], measured.leakage))
        lines.append(f"{case:<4}  {epsilon:.1f}  " + "  ".join(f"{cell:<25}" for cell in shown))
    RESULTS.write_text("\n".join(HEADER + [line.rstrip() for line in lines]) + "\n")
    assert wrong == []
