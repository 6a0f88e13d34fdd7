"""Exact privacy losses of small finite laws, by convolution over all outcomes."""

from collections.abc import Sequence
from math import exp, log

import numpy as np

LossLaw = dict[float, float]
"""Compute how likely each privacy loss is, under the first of two neighbours."""


def responses(epsilon: float, symbols: int = 2) -> LossLaw:
    """Return the loss of a randomized response of so many symbols."""
    grown = exp(epsilon)
    whole = grown + symbols - 1
    others = {0.0: (symbols - 2) / whole} if symbols > 2 else {}
    return {epsilon: grown / whole, -epsilon: 1.0 / whole, **others}


def loss_law(one: Sequence[float], other: Sequence[float]) -> LossLaw:
    """Return the loss of a finite law; outcomes of the other one alone are impossible here."""
    law: LossLaw = {}
    for p, q in zip(one, other, strict=True):
        if p > 0.0:
            loss = log(p / q)
            law[loss] = law.get(loss, 0.0) + p
    return law


def shifted_noise(deviation: int, shift: int) -> LossLaw:
    """Return the loss of discrete Gaussian noise on a small grid, out to 12 deviations."""
    points = np.arange(-12 * deviation, 12 * deviation + shift + 1)
    weights = [np.exp(-((points - at) ** 2) / (2.0 * deviation**2)) for at in (0, shift)]
    return loss_law(*((weight / weight.sum()).tolist() for weight in weights))


def shifted_laplace(rate: float, shift: int) -> LossLaw:
    """Return the loss of discrete Laplace noise whose probabilities fall by e^-rate a step."""
    likely = [(1 - exp(-rate)) / (1 + exp(-rate)) * exp(-rate * x) for x in range(shift + 1)]
    beyond = 1.0 / (1.0 + exp(-rate))
    law: LossLaw = {rate * shift: beyond}
    for x in range(1, shift):
        loss = rate * (shift - 2 * x)
        law[loss] = law.get(loss, 0.0) + likely[x]
    law[-rate * shift] = law.get(-rate * shift, 0.0) + beyond * exp(-rate * shift)
    return law


def composed_law(laws: Sequence[LossLaw]) -> LossLaw:
    """Return the loss of independent releases: sums of losses, products of probabilities."""
    whole: LossLaw = {0.0: 1.0}
    for law in laws:
        grown: LossLaw = {}
        for total, likely in whole.items():
            for loss, chance in law.items():
                at = round(total + loss, 12)
                grown[at] = grown.get(at, 0.0) + likely * chance
        whole = grown
    return whole


def delta_of_law(law: LossLaw, epsilon: float) -> float:
    """Return the delta at `epsilon`."""
    return sum(p * max(0.0, 1.0 - exp(epsilon - loss)) for loss, p in law.items())
