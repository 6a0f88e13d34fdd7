"""A short part of section 10's table; `tests/acceptance` has the whole of it."""

from math import log

import pytest

from tests.operators.sip.binary_chain import (
    BOUNDED,
    CASES,
    FULL_SUPPORT,
    PAPER,
    TABLE,
    Printed,
    measure,
)

STEPS = 1000
"""40 sequences of it: the standard error is about 0.003, the tolerance about 0.012."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "printed",
    [line for line in TABLE if line.epsilon == 1.0],
    ids=lambda line: f"case {line.case}, epsilon {line.epsilon}",
)
def test_the_error_is_that_of_section_10(printed: Printed) -> None:
    case = CASES[printed.case]
    bounded = measure(BOUNDED, case, printed.epsilon, steps=STEPS, seed=10)
    assert bounded.agrees_with(printed.bounded, STEPS)
    assert bounded.leakage <= printed.epsilon + 1e-9
    paper = measure(PAPER, case, printed.epsilon, steps=STEPS, seed=20)
    assert paper.agrees_with(printed.paper, STEPS)
    assert paper.leakage == pytest.approx(printed.paper_leakage, abs=0.0051)


@pytest.mark.parametrize(("case", "epsilon"), [(1, 0.5), (2, 1.5)])
def test_so_it_is_with_full_support(case: int, epsilon: float) -> None:
    [printed] = [line for line in TABLE if (line.case, line.epsilon) == (case, epsilon)]
    measured = measure(FULL_SUPPORT, CASES[case], epsilon, steps=STEPS, seed=40)
    assert measured.agrees_with(printed.full_support, STEPS)
    assert measured.leakage <= epsilon + 1e-9


def test_independent_symbols_have_the_closed_form() -> None:
    measured = measure(BOUNDED, CASES[1], log(3.0), steps=STEPS, seed=30)
    assert abs(measured.error - 1.0 / 6.0) <= 4.0 * measured.standard_error
