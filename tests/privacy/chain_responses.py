"""The exact law of randomized responses to the values of a short chain."""

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
