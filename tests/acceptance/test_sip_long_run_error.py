"""Section 10 of the SIP specification in full length: 10,000 steps, 40 sequences, both cases.

Writes `results/sip_long_run_error.txt`, which is committed.
"""

from math import exp
from pathlib import Path

import pytest

from tests.operators.sip.binary_chain import (
    BOUNDED,
    CASES,
    FULL_SUPPORT,
    PAPER,
    PRINTED_STEPS,
    TABLE,
    Measured,
    Printed,
    measure,
)

RESULTS = Path(__file__).parent / "results" / "sip_long_run_error.txt"
HEADER = [
    "Mean |x - y| of 40 binary sequences of 10,000 steps, +- standard error; in brackets, what the",
    "specification (section 10) prints; leaks: the largest leakage of a step in nats.",
    "",
    "case  eps  GRR              paper_crr                  leaks        "
    "bounded CRR                leaks  full_support               leaks",
]


def line(
    printed: Printed, response: float, paper: Measured, bounded: Measured, full: Measured
) -> str:
    return (
        f"{printed.case:<4}  {printed.epsilon:.1f}  {response:.4f} [{printed.response:.4f}]"
        f"  {paper.error:.4f} +-{paper.standard_error:.4f} [{printed.paper:.4f}]"
        f"  {paper.leakage:.2f} [{printed.paper_leakage:.2f}]"
        f"  {bounded.error:.4f} +-{bounded.standard_error:.4f} [{printed.bounded:.4f}]"
        f"  {bounded.leakage:.2f} "
        f"  {full.error:.4f} +-{full.standard_error:.4f} [{printed.full_support:.4f}]"
        f"  {full.leakage:.2f}"
    )


@pytest.mark.acceptance
def test_long_run_errors_are_those_of_section_10() -> None:
    lines, wrong = [], []
    for printed in TABLE:
        case, epsilon = CASES[printed.case], printed.epsilon
        response = 1.0 / (exp(epsilon) + 1.0)
        paper = measure(PAPER, case, epsilon, steps=PRINTED_STEPS, seed=1)
        bounded = measure(BOUNDED, case, epsilon, steps=PRINTED_STEPS, seed=2)
        full = measure(FULL_SUPPORT, case, epsilon, steps=PRINTED_STEPS, seed=3)
        lines.append(line(printed, response, paper, bounded, full))
        agrees = (
            round(response, 4) == printed.response
            and paper.agrees_with(printed.paper, PRINTED_STEPS)
            and abs(paper.leakage - printed.paper_leakage) < 0.0051
            and bounded.agrees_with(printed.bounded, PRINTED_STEPS)
            and bounded.leakage <= epsilon + 1e-9
            and full.agrees_with(printed.full_support, PRINTED_STEPS)
            and full.leakage <= epsilon + 1e-9
        )
        if not agrees:
            wrong.append(lines[-1])
    RESULTS.write_text("\n".join(HEADER + lines) + "\n")
    assert wrong == []
