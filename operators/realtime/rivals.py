"""Simulations of what others make of a series, to compare with: nothing is private or charged.

Noise comes from a generator of numpy, and whole series are given at once: `truth` is `(ticks,
runs)`. All are for user level: everything one person contributes to a series, each tick of which
changes by `sensitivity` at most, shares one budget. `smoothed` and `kept_frequencies` have a
parameter that somebody must choose. Chosen by looking at the true series it makes an *oracle*: what
comes out is not private, and bounds what these methods could do at best.

Source: real-time release specification, section 7.
"""

from math import sqrt

import numpy as np

from fugu.operators.mechanism import Floats


def laplace(
    truth: Floats, *, epsilon: float, sensitivity: float, rng: np.random.Generator
) -> Floats:
    """Add Laplace noise, with an equal part of the budget for each tick.

    >>> truth = np.full((8, 2), 100.0)
    >>> rng = np.random.default_rng(1)
    >>> laplace(truth, epsilon=8.0, sensitivity=1.0, rng=rng).round(1)[0].tolist()
    [100.0, 102.3]
    """
    return np.asarray(truth + rng.laplace(0.0, len(truth) * sensitivity / epsilon, truth.shape))


def normal(truth: Floats, *, total: float, sensitivity: float, rng: np.random.Generator) -> Floats:
    """Add Gaussian noise, by an account that pays for a `total` S."""
    return np.asarray(truth + rng.normal(0.0, sqrt(len(truth) / total) * sensitivity, truth.shape))


def smoothed(noisy: Floats, *, noise_variance: float, process_variance: float) -> Floats:
    """Filter the values of `laplace` as a random walk: FAST without sampling.

    Source: Fan and Xiong 2014.
    """
    estimate, off = noisy[0], noise_variance
    estimates = np.empty_like(noisy)
    for tick, now in enumerate(noisy):
        if tick:
            off += process_variance
            gain = off / (off + noise_variance)
            estimate, off = estimate + gain * (now - estimate), (1.0 - gain) * off
        estimates[tick] = estimate
    return estimates


def kept_frequencies(
    truth: Floats, *, kept: int, epsilon: float, sensitivity: float, rng: np.random.Generator
) -> Floats:
    """Add noise to the first `kept` Fourier coefficients, and set the others to 0; offline.

    The transform is orthonormal, so that the coefficients change by sqrt(kept ticks) sensitivity
    in L1, with real and imaginary parts counted apart. Source: Rastogi and Nath 2010.
    """
    ticks = len(truth)
    scale = sqrt(kept * ticks) * sensitivity / epsilon
    coefficients = np.fft.rfft(truth, axis=0, norm="ortho")
    noise = rng.laplace(0.0, scale, (2, kept, truth.shape[1]))
    noise[1, 0] = 0.0
    coefficients[:kept] += noise[0] + 1j * noise[1]
    coefficients[kept:] = 0.0
    return np.asarray(np.fft.irfft(coefficients, ticks, axis=0, norm="ortho"))


def kept_frequencies_of_blocks(
    truth: Floats,
    *,
    block: int,
    kept: int,
    epsilon: float,
    sensitivity: float,
    rng: np.random.Generator,
) -> Floats:
    """Do that for each block of so many ticks once it is over: late by up to a block.

    A block has a share of the budget like its share of the ticks. Source: Zhang, Khalili and Liu
    2022, section 8 (online, with delay).

    >>> rng = np.random.default_rng(1)
    >>> steady = np.full((8, 1), 100.0)
    >>> late = kept_frequencies_of_blocks(
    ...     steady, block=4, kept=1, epsilon=800.0, sensitivity=1.0, rng=rng
    ... )
    >>> late.round(1)[:, 0].tolist()
    [100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0]
    """
    parts = [truth[start : start + block] for start in range(0, len(truth), block)]
    released = [
        kept_frequencies(
            part,
            kept=min(kept, len(part) // 2 + 1),
            epsilon=epsilon * len(part) / len(truth),
            sensitivity=sensitivity,
            rng=rng,
        )
        for part in parts
    ]
    return np.concatenate(released)
