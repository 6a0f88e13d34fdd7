"""The exact law of randomized responses to the values of a short chain."""

from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np

from fugu.operators.mechanism import Floats


def randomized_response(symbols: int, epsilon: float) -> Floats:
    law: Floats = np.exp(epsilon * np.eye(symbols))
    return np.asarray(law / law.sum(axis=1, keepdims=True))


def joint_law(forward: Floats, start: Floats, responses: list[Floats]) -> Floats:
    """P(responses and values) for all responses (first axis) and values (an axis for each tick)."""
    symbols = len(start)
    outcomes = list(product(range(symbols), repeat=len(responses)))
    joint = np.zeros((len(outcomes), *[symbols] * len(responses)))
    for path in product(range(symbols), repeat=len(responses)):
        probability = start[path[0]]
        for now, following in pairwise(path):
            probability *= forward[now, following]
        for number, outcome in enumerate(outcomes):
            told = [
                law[value, out] for law, value, out in zip(responses, path, outcome, strict=True)
            ]
            joint[(number, *path)] = probability * np.prod(told)
    return joint


def told_apart(joint: Floats, ticks: list[int]) -> float:
    """The largest ln P(responses | values at `ticks`) - ln P(responses | other values there)."""
    others = tuple(axis for axis in range(1, joint.ndim) if axis - 1 not in ticks)
    together = joint.sum(axis=others).reshape(len(joint), -1)
    possible = together.sum(axis=0) > 0.0
    given = np.log(together[:, possible] / together[:, possible].sum(axis=0))
    return float((given.max(axis=1) - given.min(axis=1)).max())


def starts(symbols: int) -> list[Floats]:
    """Laws of the first value: a grid over all of them, and far into its corners."""
    far = [1e-6, 1e-3, 0.05, 0.25, 0.5, 1.0]
    weights = np.array(list(product(far, repeat=symbols)))
    return list(weights / weights.sum(axis=1, keepdims=True))


def from_starts(rows: Floats, epsilons: list[float], laws: list[Floats]) -> Iterator[Floats]:
    """The joint law of responses and values for each law of the first value."""
    responses = [randomized_response(len(rows), epsilon) for epsilon in epsilons]
    parts = [joint_law(rows, first, responses) for first in np.eye(len(rows))]
    for law in laws:
        yield sum(share * part for share, part in zip(law, parts, strict=True))


def most_told(rows: Floats, epsilons: list[float]) -> list[float]:
    """The most about the value of each tick, of all starts."""
    told = [
        [told_apart(joint, [tick]) for tick in range(len(epsilons))]
        for joint in from_starts(rows, epsilons, starts(len(rows)))
    ]
    return [float(most) for most in np.max(told, axis=0)]
