"""Compose privacy loss distributions, with Google's dp-accounting, where that is installed.

The closed form takes any bounded loss for that of a randomized response of one bit. Discrete
Laplace noise and responses among many symbols lose less. Their curves of delta over epsilon are
turned into distributions on a grid of losses that dominate them ("connect the dots"), which are
composed by Fourier transforms. Those are in doubles: `ROUNDING` of delta is set aside for them.

Source: Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022; Koskela, Jalko and Honkela 2020.
"""

from fractions import Fraction
from importlib.util import find_spec
from math import ceil, exp, log1p, sqrt
from typing import TYPE_CHECKING

import numpy as np

from fugu.operators.budget_units import in_nats, units_of
from fugu.operators.composition.composed_loss import ComposedLoss, gaussian_delta
from fugu.operators.loss import BoundedLoss, GaussianLoss, LaplaceLoss, PureLoss, ResponseLoss
from fugu.operators.mechanism import Floats
from fugu.operators.noise.gaussian_account import VARIANCE

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

ROUNDING = Fraction(1, 10**10)
_CELLS = 64
"""Divide the smallest loss into so many cells, unless there are more than `_MOST_CELLS` in all."""
_MOST_CELLS = 1 << 18
_DEVIATIONS = 9.0
"""Follow the loss of Gaussian noise so far from its mean; a larger one counts as infinite."""


def gains(composed: ComposedLoss) -> bool:
    """Return whether distributions may say less than the closed form, and can be computed."""
    finer = any(isinstance(loss, LaplaceLoss | ResponseLoss) for loss, _ in composed.losses)
    return finer and find_spec("dp_accounting") is not None


def epsilon_by_distributions(composed: ComposedLoss, delta: Fraction, below: int) -> int | None:
    """Return an epsilon of fewer than `below` units at which `delta` suffices; None without any."""
    left = delta - composed.beside - composed.delta_of_draws(below) - ROUNDING
    if left <= 0:
        return None
    nats = distribution(composed).get_epsilon_for_delta(float(left))
    return units_of(nats) if nats < in_nats(below) else None


def distribution(composed: ComposedLoss) -> "PrivacyLossDistribution":
    """Return a distribution that dominates the composed loss."""
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    reaches = {loss: _reach(loss) for loss, _ in composed.losses}
    total = sum(number * reaches[loss] for loss, number in composed.losses)
    cell = max(min(reaches.values()) / _CELLS, total / _MOST_CELLS)
    whole = None
    for loss, number in composed.losses:
        cells = ceil(reaches[loss] / cell)
        curve = delta_curve(loss, cell * np.arange(-cells, cells + 1, dtype=np.float64))
        falling = np.minimum.accumulate(curve)
        law = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(cell, -cells, cells, falling)
        one = privacy_loss_distribution.PrivacyLossDistribution(law).self_compose(number)
        whole = one if whole is None else whole.compose(one)
    return whole


def delta_curve(loss: BoundedLoss | GaussianLoss, epsilons: Floats) -> Floats:
    """Return the delta of one loss at each epsilon, in nats and of any sign."""
    match loss:
        case GaussianLoss(squares=squares):
            ratio = sqrt(squares / VARIANCE)
            return np.array([gaussian_delta(epsilon, ratio) for epsilon in epsilons.tolist()])
        case LaplaceLoss(rate=rate, shift=shift):
            return _of_laplace(rate, shift, epsilons)
        case ResponseLoss(epsilon=epsilon, symbols=symbols):
            return _of_responses(epsilon, symbols, epsilons)
        case PureLoss(epsilon=epsilon):
            return _of_responses(epsilon, 2, epsilons)


def _of_responses(epsilon: float, symbols: int, epsilons: Floats) -> Floats:
    """Add up what all outcomes exceed, of a truth and of another symbol."""
    other = exp(-epsilon) / (1.0 + (symbols - 1) * exp(-epsilon))
    likely, grown = other * exp(epsilon), np.exp(epsilons)
    exceeded = np.maximum(likely - grown * other, 0.0) + np.maximum(other - grown * likely, 0.0)
    curve: Floats = exceeded + (symbols - 2) * other * np.maximum(1.0 - grown, 0.0)
    return curve


def _of_laplace(rate: float, shift: int, epsilons: Floats) -> Floats:
    """Compare the chances of the outcomes whose loss is above epsilon: all up to the last one."""
    last = np.ceil((shift - epsilons / rate) / 2.0) - 1.0
    outside = log1p(exp(-rate))
    one = -np.expm1(-rate * (last + 1.0) - outside)
    other = np.exp(epsilons - rate * (shift - last) - outside)
    everything = -np.expm1(epsilons)
    curve: Floats = np.where(last < shift, one - other, everything)
    return np.where(last < 0.0, 0.0, np.maximum(curve, 0.0))


def _reach(loss: BoundedLoss | GaussianLoss) -> float:
    """Return how large a loss is at most, or nearly always."""
    if not isinstance(loss, GaussianLoss):
        return loss.epsilon
    ratio = sqrt(loss.squares / VARIANCE)
    return ratio * (ratio / 2.0 + _DEVIATIONS)
