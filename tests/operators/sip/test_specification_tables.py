"""Sections 2 and 3.6 of the SIP specification, to the printed digits."""

from dataclasses import dataclass
from math import exp

import numpy as np
import pytest

from fugu.operators.mechanism import Floats
from fugu.operators.sip.kernels import SymbolLaw
from tests.operators.sip import dense
from tests.operators.sip.beliefs import uniform, zipf

BELIEFS = {
    "uniform 10": uniform(10),
    "uniform 100": uniform(100),
    "uniform 10^4": uniform(10_000),
    "Zipf 100": zipf(100),
    "Zipf 10^4": zipf(10_000),
    "(0.9, 0.1)": np.array([0.9, 0.1]),
}


def error(law: SymbolLaw) -> float:
    """P(released != true), one explicit row of the law for each releasable symbol."""
    belief = law.belief[:, 0]
    releasable = np.flatnonzero(law.probabilities(np.array([0]))[:, 0])
    return 1.0 - sum(float(belief[x] * law.probabilities(np.array([x]))[x, 0]) for x in releasable)


def randomized_response_error(symbols: int, epsilon: float) -> float:
    return (symbols - 1) / (exp(epsilon) + symbols - 1)


def paper_leakage(belief: Floats, epsilon: float) -> float:
    return float(np.log(dense.paper_law(belief[:, None], epsilon).leakage_ratio[0]))


@pytest.mark.parametrize(
    ("belief", "printed"),
    [
        ("uniform 10", [1.513, 1.900, 2.173, 4.000]),
        ("uniform 100", [3.688, 4.152, 4.461, 4.587]),
        ("uniform 10^4", [8.278, 8.752, 9.065, 9.192]),
        ("Zipf 100", [5.322, 5.794, 6.106, 6.233]),
        ("(0.9, 0.1)", [1.513, 1.900, 2.173, 4.000]),
    ],
)
def test_the_papers_mechanism_leaks_what_section_2_says(belief: str, printed: list[float]) -> None:
    leaked = [paper_leakage(BELIEFS[belief], epsilon) for epsilon in (0.5, 1.0, 2.0, 4.0)]
    assert [round(value, 3) for value in leaked] == printed


@dataclass(frozen=True)
class Row:
    """One line of table 3.6."""

    belief: str
    epsilon: float
    constant: float
    response: float
    response_twice: float
    bounded: float
    paper: float
    paper_leakage: float

    def __str__(self) -> str:
        return f"{self.belief}, epsilon {self.epsilon:g}"


@pytest.mark.parametrize(
    "row",
    [
        Row("uniform 10", 1, 0.9000, 0.7680, 0.5491, 0.7282, 0.3311, 1.90),
        Row("uniform 10", 4, 0.9000, 0.1415, 0.0030, 0.0165, 0.0165, 4.00),
        Row("Zipf 100", 1, 0.8072, 0.9733, 0.9305, 0.7163, 0.3455, 5.79),
        Row("Zipf 100", 4, 0.8072, 0.6445, 0.0321, 0.2184, 0.0172, 6.23),
        pytest.param(
            Row("Zipf 10^4", 4, 0.8978, 0.9946, 0.7703, 0.5532, 0.0180, 11.5),
            marks=pytest.mark.acceptance,
        ),
    ],
    ids=str,
)
def test_errors_are_those_of_table_3_6(row: Row) -> None:
    belief = BELIEFS[row.belief]
    computed = [
        1.0 - belief.max(),
        randomized_response_error(len(belief), row.epsilon),
        randomized_response_error(len(belief), 2 * row.epsilon),
        error(dense.bounded_law(belief[:, None], row.epsilon)),
        error(dense.paper_law(belief[:, None], row.epsilon)),
    ]
    printed = [row.constant, row.response, row.response_twice, row.bounded, row.paper]
    assert [round(float(value), 4) for value in computed] == printed
    digits = 1 if row.paper_leakage > 10 else 2
    assert round(paper_leakage(belief, row.epsilon), digits) == row.paper_leakage


def test_the_papers_mechanism_is_the_matrix_of_algorithm_1() -> None:
    belief = np.random.default_rng(2).dirichlet(np.ones(7))
    law = dense.matrix(dense.paper_law(belief[:, None], 1.3))[:, :, 0]
    for x in range(7):
        for y in range(7):
            expected = belief[y] * exp(-1.3) if x != y else 1.0 - (1.0 - belief[x]) * exp(-1.3)
            assert law[x, y] == pytest.approx(expected, abs=1e-14)
    np.testing.assert_allclose(belief @ law, belief, atol=1e-14)
