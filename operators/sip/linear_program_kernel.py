"""The proposal kernel for small alphabets and any distance."""

import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from fugu.operators.mechanism import Floats, Integers
from fugu.operators.sip.distances import Distance
from fugu.operators.sip.markov_model import ordered_sum
from fugu.operators.sip.proposals import ExplicitKernel, Kernel, Proposal
from fugu.operators.sip.release_law import ReleaseLaw

LARGEST_ALPHABET = 32
TIE = 1e-12
_BELIEF_GRID = 1024
_KERNEL_GRID = 2.0**20
_IMPOSSIBLE = 2.0**-20
"""Weight a symbol of rounded belief zero in the objective, so that it goes somewhere near."""
_REMEMBERED = 2048


@dataclass(frozen=True, eq=False)
class LinearProgramKernel(Kernel):
    """Propose the best law there is, found by a linear program.

    Constants: D and n, the other candidate, `gain` = e^eps - 1, `growth` = e^eps.

    Every eps-private law is a = e^-eps q + (1 - e^-eps) G with G row-stochastic, q = beta G and
    G(x,y) <= (e^eps + 1) q(y). So the cheapest law is the proposal G that minimises

        sum_x beta(x) sum_y [ e^-eps q(y) + (1 - e^-eps) G(x,y) ] D(x,y)

    under these linear constraints, with n^2 + n variables. What the solver returns is repaired like
    any proposal, with the exact belief: its slack costs accuracy, never privacy. The heuristic
    kernel of the same distance stays a candidate, so that the law is never worse than the
    heuristic's, also where the solver gives up.

    Replay needs the same bytes again, and a solver promises no bits. Three things stand in for
    that: the program is solved for a belief rounded to multiples of 1/1024, so that its data are a
    few integers; the solution is rounded to multiples of 2^-20 whose rows add up to 1 exactly, so
    that the last bits of the solver do not show; and the versions of SciPy, system and processor
    are part of the law digest, so that a pipeline that comes back elsewhere is refused instead of
    releasing other bytes. What remains: among several optima, or next to a border of the rounding,
    the same version must choose alike. HiGHS is deterministic (one thread, dual simplex, no time
    limit), but a SciPy that was built differently under the same version is outside of what can be
    checked here.

    Raises `ValueError` for more than 32 symbols, or where SciPy is not installed.

    Source: SIP specification section 3.4; the equivalent form above is from sections 2 and 3.
    """

    distance: Distance
    symbols: int
    heuristic: Kernel
    gain: float
    growth: float

    def __post_init__(self) -> None:
        if self.symbols > LARGEST_ALPHABET:
            raise ValueError(
                f"kernel: linear_program takes at most {LARGEST_ALPHABET} symbols, "
                f"not {self.symbols}; use heuristic"
            )
        solver_version()

    def identity(self) -> tuple[str | int | bytes, ...]:
        """Return name, version and distance, and everything that its bits depend on."""
        place = (solver_version(), platform.system(), platform.machine())
        return ("linear_program", 1, *place, *self.distance.identity(), *self.heuristic.identity())

    def propose(self, belief: Floats) -> ExplicitKernel:
        count = np.floor(belief * _BELIEF_GRID + 0.5).astype(np.int64)
        keys = np.ascontiguousarray(count.T)
        solved = ExplicitKernel.stacked(
            [self._solution(key.tobytes()) for key in keys], self.symbols
        )
        heuristic = self._written_out(self.heuristic.propose(belief), belief.shape[1])
        better = self._cost(belief, solved) < self._cost(belief, heuristic) - TIE
        return ExplicitKernel(np.where(better, solved.matrix, heuristic.matrix))

    def _written_out(self, proposal: Proposal, rows: int) -> ExplicitKernel:
        each = [proposal.row(np.full(rows, symbol)) for symbol in range(self.symbols)]
        return ExplicitKernel(np.stack(each))

    def _cost(self, belief: Floats, proposal: ExplicitKernel) -> Floats:
        law = ReleaseLaw.repaired(belief, proposal, self.gain, self.growth)
        weighted = belief[:, None] * self._table[:, :, None]
        moved = ordered_sum(ordered_sum(weighted * proposal.matrix))
        spread = ordered_sum(law.mass * ordered_sum(weighted))
        return np.asarray((self.gain * moved + spread) / (self.gain + ordered_sum(law.mass)))

    @cached_property
    def _table(self) -> Floats:
        return self.distance.table(self.symbols)

    @cached_property
    def _solution(self) -> Callable[[bytes], Floats]:
        """Remember solutions by the rounded belief, of which they are a function."""
        return lru_cache(_REMEMBERED)(self._solved)

    def _solved(self, content: bytes) -> Floats:
        count = np.frombuffer(content, dtype=np.int64)
        solution = solved_proposal(count / count.sum(), self._table, self.growth)
        return np.eye(self.symbols) if solution is None else solution


def solved_proposal(belief: Floats, table: Floats, growth: float) -> Floats | None:
    """Return the cheapest G(x,y) for costs `table`, rounded; None where there is no solution."""
    solution = _minimum(belief, table, growth)
    return None if solution is None else _rounded(solution)


def _minimum(belief: Floats, table: Floats, growth: float) -> Floats | None:
    """Return G(x,y) as the solver leaves it."""
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, hstack, kron, vstack

    symbols = len(belief)
    one = eye_array(symbols)
    above, rows = _alike_for_all_beliefs(symbols, growth)
    released = hstack([kron(belief[None], one), -one])
    weighted = np.maximum(belief, _IMPOSSIBLE)[:, None] * table
    shrink = 1.0 / growth
    cost = [((1.0 - shrink) * weighted).ravel(), shrink * ordered_sum(weighted)]
    solved = linprog(
        np.concatenate(cost),
        A_ub=above,
        b_ub=np.zeros(symbols**2),
        A_eq=vstack([released, rows]),
        b_eq=np.repeat([0.0, 1.0], symbols),
        bounds=(0.0, None),
        method="highs-ds",
    )
    if solved.status != 0:
        return None
    return np.asarray(solved.x[: symbols**2].reshape(symbols, symbols))


@lru_cache(maxsize=32)
def _alike_for_all_beliefs(symbols: int, growth: float) -> tuple[Any, Any]:
    """Return the bounds of G by q, and the sums of the rows of G: sparse, of all variables."""
    from scipy.sparse import csr_array, eye_array, hstack, kron

    one, line = eye_array(symbols), np.ones((1, symbols))
    above = hstack([eye_array(symbols**2) / (growth + 1.0), -kron(line.T, one)])
    return above, hstack([kron(one, line), csr_array((symbols, symbols))])


def solver_version() -> str:
    """Return the installed version of SciPy, which brings HiGHS with it."""
    try:
        return version("scipy")
    except PackageNotFoundError:
        raise ValueError(
            "kernel: linear_program needs SciPy; pip install scipy, or use heuristic"
        ) from None


def _rounded(kernel: Floats) -> Floats:
    """Round to multiples of 2^-20; the largest entry makes the sum of its row exactly 1."""
    positive = np.maximum(kernel, 0.0)
    share = positive / np.cumsum(positive, axis=1)[:, -1:]
    units: Integers = np.floor(share * _KERNEL_GRID + 0.5).astype(np.int64)
    rows, largest = np.arange(len(units)), units.argmax(axis=1)
    units[rows, largest] += int(_KERNEL_GRID) - units.sum(axis=1)
    return np.asarray(units / _KERNEL_GRID)
