"""The linear programme that shares a budget out where sums of the largest shares are limited."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from fugu.operators.mechanism import Array, Floats

_LEAST, _MOST = 2.0**-10, 2.0**10
"""Tangents are at multiples of even shares between these."""
_FIRST = (0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0)
_ROUNDS, _STEPS = 12, 100_000
"""No more programmes are solved, and none by more steps of the simplex method."""
_GAP, _GAP_OF_EACH = 1e-3, 0.1
"""By how much tangents may be below the objective: all together, and each."""
_NEVER_NOTHING = 1e-4
"""So much of all shares is even."""


@dataclass(frozen=True)
class Limit:
    """Let the `affected` largest shares of its ticks add up to 1 at most.

    `members` has the number of each variable, and how many ticks have it for their share; `spent`
    has shares that are given, and how many ticks have each.
    """

    affected: int
    members: Sequence[tuple[int, int]]
    spent: Sequence[tuple[float, int]] = ()


def least_noise(weights: Sequence[float], limits: Sequence[Limit]) -> Floats:
    """Return shares x >= 0 that minimise the sum of weights / x under all limits.

    Claim. The sum of the d largest of some x_t is at most 1 if and only if there are l >= 0 and
    u_t >= 0 with d l + sum of u_t <= 1 and u_t >= x_t - l. For d l + sum of (x_t - l)+ is at least
    the sum of any d of them, and for l the d-th largest it is that of the d largest. So limits are
    linear. The objective is convex, and replaced by tangents; more of them are added where the
    solution is, until it is within a thousandth of what the tangents say, which is a lower bound,
    and each term within a tenth.

    Every variable must be in a limit. Zeros are returned where HiGHS, which solves it, finds no
    solution. The last digits may differ between machines and versions.

    >>> shares = least_noise([1.0, 4.0], [Limit(2, [(0, 1), (1, 1)])])
    >>> shares.round(1).tolist()
    [0.3, 0.7]

    Source: R. T. Rockafellar, S. Uryasev, "Optimization of conditional value-at-risk", Journal of
    Risk 2, 2000 (sums of the largest as linear programmes); J. E. Kelley, "The cutting-plane method
    for solving convex programs", Journal of SIAM 8, 1960.
    """
    even = np.ones(len(weights))
    for limit in limits:
        for variable, _ in limit.members:
            even[variable] = min(even[variable], 1.0 / limit.affected)
    cost = np.array(weights) / even
    cost /= cost.sum()
    coefficients, bounds = _linear(limits, even)
    tangents = np.tile(np.array(_FIRST)[:, None], len(cost))
    multiples = np.zeros(len(cost))
    for _ in range(_ROUNDS):
        if (solved := _solved(cost, coefficients, bounds, tangents)) is None:
            break
        multiples, least = solved
        lower = np.maximum(_LEAST, tangents.min(axis=0) / 4.0)
        new = np.clip(multiples, lower, _MOST)
        missed = 1.0 / new - (2.0 / tangents - multiples / tangents**2).max(axis=0)
        if cost @ missed <= _GAP * least and np.all(missed * new <= _GAP_OF_EACH):
            break
        tangents = np.vstack([tangents, new])
    if not multiples.any():
        return multiples
    return np.asarray(((1.0 - _NEVER_NOTHING) * multiples + _NEVER_NOTHING) * even)


def require_solver() -> None:
    """Raise `ValueError` where SciPy is not installed."""
    try:
        import scipy.optimize  # noqa: F401
    except ModuleNotFoundError:
        raise ValueError(
            "kind: unicorn_plan needs SciPy; pip install scipy, or use unicorn_ps"
        ) from None


def _linear(limits: Sequence[Limit], even: Floats) -> tuple[Any, Floats]:
    """Return rows and bounds of limits; columns: variables, tangents, then l and u of each."""
    cells: list[tuple[int, int, float]] = []
    bounds: list[float] = []
    column = 2 * len(even)
    for limit in limits:
        limited, level = len(bounds), column
        cells.append((limited, level, float(limit.affected)))
        bounds.append(1.0)
        column += 1
        for variable, share, ticks in chain(
            ((variable, 0.0, ticks) for variable, ticks in limit.members),
            ((None, share, ticks) for share, ticks in limit.spent),
        ):
            row, above = len(bounds), column
            cells += [(limited, above, float(ticks)), (row, above, -1.0), (row, level, -1.0)]
            if variable is not None:
                cells.append((row, variable, even[variable]))
            bounds.append(-share)
            column += 1
    return _sparse(cells, len(bounds), column), np.array(bounds)


def _solved(
    cost: Floats, coefficients: Any, bounds: Floats, tangents: Floats
) -> tuple[Floats, float] | None:
    """Return multiples of even shares, and the objective in which 1 / x is its tangents; None if
    none are found in time."""
    from scipy.optimize import linprog
    from scipy.sparse import vstack

    size, columns = len(cost), coefficients.shape[1]
    at = tangents.ravel()
    rows, variables = np.arange(len(at)), np.tile(np.arange(size), len(tangents))
    values = np.concatenate([-1.0 / at**2, -np.ones(len(at))])
    places = np.concatenate([rows, rows]), np.concatenate([variables, size + variables])
    below = _sparse_of(values, places, (len(at), columns))
    objective = np.zeros(columns)
    objective[size : 2 * size] = cost
    solved = linprog(
        objective,
        A_ub=vstack([coefficients, below]),
        b_ub=np.concatenate([bounds, -2.0 / at]),
        bounds=(0.0, None),
        method="highs-ds",
        options={"maxiter": _STEPS},
    )
    if solved.status != 0:
        return None
    return np.asarray(solved.x[:size]), float(solved.fun)


def _sparse(cells: Sequence[tuple[int, int, float]], rows: int, columns: int) -> Any:
    row, column, value = (np.array(part) for part in zip(*cells, strict=True))
    return _sparse_of(value, (row, column), (rows, columns))


def _sparse_of(values: Array, places: tuple[Array, Array], shape: tuple[int, int]) -> Any:
    from scipy.sparse import csr_array

    return csr_array((values, places), shape=shape)
