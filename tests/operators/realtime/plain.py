"""The filter as section 4 of the specification writes it, one series, statistics from scratch."""

from math import sqrt

import numpy as np


def statistics(noisy: list[float], variances: list[float]) -> tuple[float, float, float, float]:
    """Mean, variance of noisy values, variance of true values, correlation of true values."""
    number, values = len(noisy), np.array(noisy)
    mean = values.mean()
    spread = float(((values - mean) ** 2).sum())
    observed = spread / (number - 1)
    true = max(observed - sum(variances) / number, 0.0)
    neighbours = float(((values[1:] - mean) * (values[:-1] - mean)).sum())
    correlation = 0.0
    if true > 0.0:
        correlation = (neighbours / spread + 1.0 / number) * observed / true
    return float(mean), observed, true, min(max(correlation, 0.0), 0.995)


def adaptive(noisy: list[float], variances: list[float]) -> list[float]:
    """Estimates with a gain that the filter chooses."""
    estimates: list[float] = []
    off = 0.0
    for tick, (value, variance) in enumerate(zip(noisy, variances, strict=True)):
        if tick < 2:
            estimates.append(value)
            off = variance
            continue
        mean, observed, true, correlation = statistics(noisy[:tick], variances[:tick])
        predicted = mean + correlation * (estimates[-1] - mean)
        prior = correlation**2 * off + true * (1.0 - correlation**2) + observed / tick
        gain = prior / (prior + variance)
        if abs(value - predicted) > 5.0 * sqrt(prior + variance):
            gain, off = 1.0, variance
        else:
            off = (1.0 - gain) * prior
        estimates.append(predicted + gain * (value - predicted))
    return estimates


def fixed(noisy: list[float], variances: list[float], weights: list[float]) -> list[float]:
    """Estimates with given weights."""
    estimates: list[float] = []
    given = zip(noisy, variances, weights, strict=True)
    for tick, (value, variance, weight) in enumerate(given):
        if tick < 2:
            estimates.append(value)
            continue
        mean, _, true, correlation = statistics(noisy[:tick], variances[:tick])
        pull = correlation * true / (true + weight**2 * variance) if true > 0.0 else 0.0
        predicted = mean * (1.0 - pull) + pull * estimates[-1]
        estimates.append((1.0 - weight) * predicted + weight * value)
    return estimates
