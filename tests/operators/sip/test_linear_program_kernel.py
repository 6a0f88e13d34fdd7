"""The proposal that a solver finds: the best there is, as rounded integers, and never needed."""

import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from math import exp, expm1
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.optimize

from fugu.operators.mechanism import Floats
from fugu.operators.sip import linear_program_kernel
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.distances import HAMMING, Ordered
from fugu.operators.sip.linear_program_kernel import LinearProgramKernel
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.ordered_kernel import OrderedKernel
from tests.operators.sip import dense
from tests.operators.sip.beliefs import random_beliefs, uniform
from tests.operators.sip.choices import KERNELS
from tests.operators.sip.linear_program import least_cost

MODEL = MarkovModel.smoothed([0.5, 0.3, 0.2], np.full((3, 3), 1 / 3), 0.0)


def ordered_kernel(symbols: int, epsilon: float) -> LinearProgramKernel:
    heuristic = OrderedKernel(expm1(epsilon), exp(epsilon))
    return LinearProgramKernel(Ordered(), symbols, heuristic, heuristic.gain, heuristic.growth)


def expected(name: str, belief: Floats, epsilon: float) -> Floats:
    law = dense.matrix(dense.law_of(KERNELS[name], belief, epsilon))
    table = KERNELS[name].distance_of(len(belief)).table(len(belief))
    return dense.expected_distance(belief, law, table)


@pytest.mark.parametrize("distance", ["ordered", "points"])
@pytest.mark.parametrize("symbols", [3, 6])
def test_the_law_is_never_worse_than_the_heuristic_and_near_the_best(
    distance: str, symbols: int
) -> None:
    rng = np.random.default_rng(symbols)
    table = KERNELS[distance].distance_of(symbols).table(symbols)
    saved, excess = [], []
    for epsilon in rng.uniform(0.1, 3.0, 5):
        belief = random_beliefs(rng, symbols, 5)
        cost = expected(f"{distance}, linear_program", belief, float(epsilon))
        saved.append(expected(distance, belief, float(epsilon)) - cost)
        least = [least_cost(column, float(epsilon), table) for column in belief.T]
        excess.append(cost - least)
    assert np.min(saved) >= -1e-12
    assert np.max(saved) > 0.01
    assert np.min(excess) >= -1e-7
    assert np.mean(excess) < 0.002 * table.max()


def test_a_solution_is_whole_numbers_of_2_to_the_minus_20_with_rows_of_1() -> None:
    belief = random_beliefs(np.random.default_rng(2), 7, 20)
    for matrix in np.moveaxis(ordered_kernel(7, 1.1).propose(belief).matrix, 2, 0):
        if not (matrix == 1.0).any():  # a heuristic keeps whole symbols
            units = matrix * 2.0**20
            assert (units == np.round(units)).all()
            assert (matrix.sum(axis=1) == 1.0).all()


def test_beliefs_that_round_alike_share_one_solution() -> None:
    """Rounded to 1/1024; found once, and again after it was forgotten."""
    kernel = ordered_kernel(3, 0.8)
    belief = np.array([[0.5, 0.5001, 0.52], [0.3, 0.2999, 0.28], [0.2, 0.2, 0.2]])
    first = kernel.propose(belief)
    cache: Any = kernel._solution
    assert cache.cache_info().misses == 2
    cache.cache_clear()
    assert kernel.propose(belief).matrix.tobytes() == first.matrix.tobytes()


def test_a_solver_that_gives_up_leaves_the_heuristic(monkeypatch: pytest.MonkeyPatch) -> None:
    belief = random_beliefs(np.random.default_rng(3), 5, 10)
    heuristic = dense.matrix(dense.law_of(KERNELS["ordered"], belief, 0.7))
    name = "ordered, linear_program"
    solved = dense.matrix(dense.law_of(KERNELS[name], belief, 0.7))
    assert (np.abs(solved - heuristic) > 1e-3).any()
    monkeypatch.setattr(scipy.optimize, "linprog", lambda *_, **__: SimpleNamespace(status=4))
    left = dense.matrix(dense.law_of(KERNELS[name], belief, 0.7))
    np.testing.assert_allclose(left, heuristic, rtol=0, atol=1e-11)


def test_too_many_symbols_are_refused() -> None:
    model = MarkovModel.smoothed(uniform(33), np.tile(uniform(33), (33, 1)), 0.0)
    with pytest.raises(ValueError, match=r"^kernel: .* at most 32 symbols, not 33; use heuristic"):
        ConditionalRandomizedResponse(model, 1.0, kernel="linear_program")


def test_without_scipy_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(linear_program_kernel, "version", missing)
    with pytest.raises(ValueError, match=r"^kernel: .* pip install scipy"):
        ConditionalRandomizedResponse(MODEL, 1.0, kernel="linear_program")
    assert ConditionalRandomizedResponse(MODEL, 1.0, Ordered()).law_digest()


def test_another_solver_has_another_law_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a pipeline refuses to go on with it."""

    def digests() -> tuple[bytes, bytes]:
        program = ConditionalRandomizedResponse(MODEL, 1.0, HAMMING, kernel="linear_program")
        return program.law_digest(), ConditionalRandomizedResponse(MODEL, 1.0).law_digest()

    program, usual = digests()
    monkeypatch.setattr(linear_program_kernel, "version", lambda _: "0.0.1")
    assert digests()[0] != program
    assert digests()[1] == usual
    monkeypatch.undo()
    monkeypatch.setattr(platform, "machine", lambda: "pdp11")
    assert digests()[0] != program


PROPOSALS = """
import numpy as np
from hashlib import blake2b
from tests.operators.sip.test_linear_program_kernel import ordered_kernel
from tests.operators.sip.beliefs import random_beliefs
belief = random_beliefs(np.random.default_rng(5), 6, 12)
if {backwards}:
    belief = np.ascontiguousarray(belief[:, ::-1])
matrix = ordered_kernel(6, 1.0).propose(belief).matrix
if {backwards}:
    matrix = np.ascontiguousarray(matrix[:, :, ::-1])
print(blake2b(matrix.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_a_process_that_meets_beliefs_in_another_order_finds_the_same_bytes() -> None:
    found = [
        subprocess.run(
            [sys.executable, "-c", PROPOSALS.format(backwards=backwards)],
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for backwards in (False, True)
    ]
    assert found[0] == found[1]
