"""Estimates of symbol shares, from reports at random."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol, runtime_checkable

import numpy as np

from fugu.operators.mechanism import Floats, Integers


@runtime_checkable
class ReportingLaw(Protocol):
    """Report a symbol with one probability if it is the truth, and with another if it is not."""

    @property
    def reported_if_true(self) -> float:
        """Return p = P(a release reports v given that v is the truth)."""

    @property
    def reported_if_other(self) -> float:
        """Return q = P(a release reports v given that another symbol is the truth)."""


@dataclass(frozen=True, eq=False)
class FrequencyEstimate:
    """Estimate the shares of all symbols, `(n,)`, from releases that report them at random.

    Let a release report symbol v with probability p if v is true and with q if not, and let c of N
    releases report it. Then (c/N - q) / (p - q) is an unbiased estimate of the share f of records
    in which v is true, with variance [q(1-q) / (p-q)^2 + f (1-p-q) / (p-q)] / N. For generalized
    randomized response p and q are those of a symbol, for optimized unary encoding those of a bit.

    Error bars are about the shares in the records behind these N releases. Count fresh releases
    only: what is repeated for want of budget says nothing new. Every release may be of another
    user, or many of the same one: draws are independent either way.

    A share may be below 0 or above 1, and shares need not add up to 1: sums and means of estimates
    stay unbiased only if that is left as it is.

    >>> from fugu.operators.responses.generalized_randomized_response import (
    ...     GeneralizedRandomizedResponse,
    ... )
    >>> grr = GeneralizedRandomizedResponse(symbols=3, epsilon=1.0)
    >>> estimate = estimated_shares(np.array([4_512, 3_105, 2_383]), releases=10_000, law=grr)
    >>> estimate.shares.round(3).tolist(), estimate.standard_errors.round(3).tolist()
    ([0.657, 0.271, 0.072], [0.013, 0.012, 0.011])
    >>> estimate.intervals(confidence=0.95).round(3).tolist()
    [[0.632, 0.682], [0.247, 0.294], [0.05, 0.095]]

    Source: SIP specification, section 9; Wang, Blocki, Li and Jha 2017.
    """

    shares: Floats
    standard_errors: Floats

    def intervals(self, confidence: float = 0.95) -> Floats:
        """Return the lower and the upper end for each symbol, `(n, 2)`.

        Each interval by itself holds the true share with about this probability, by the normal
        approximation: trust it where at least 20 releases report the symbol by chance alone.
        """
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence: must be between 0 and 1, not {confidence}")
        margin = NormalDist().inv_cdf(0.5 + confidence / 2.0) * self.standard_errors
        return np.stack([self.shares - margin, self.shares + margin], axis=1)

    def projected(self) -> Floats:
        """Return the nearest shares that are not negative and add up to 1: post-processing.

        They cost no privacy, but are biased (rare symbols upwards), and the standard errors and
        intervals are not theirs.
        """
        descending = np.sort(self.shares)[::-1]
        excess = (np.cumsum(descending) - 1.0) / np.arange(1, len(descending) + 1)
        kept = np.flatnonzero(descending > excess)[-1]
        return np.asarray(np.maximum(self.shares - excess[kept], 0.0))


def estimated_shares(counts: Integers, releases: int, law: ReportingLaw) -> FrequencyEstimate:
    """Estimate shares from how many of the `releases` report each symbol, `counts (n,)`."""
    if releases < 1:
        raise ValueError("releases: at least one is needed to estimate from")
    if ((counts < 0) | (counts > releases)).any():
        raise ValueError(f"counts: must be 0 to the number of releases, which is {releases}")
    p, q = law.reported_if_true, law.reported_if_other
    shares = (counts / releases - q) / (p - q)
    return FrequencyEstimate(shares, standard_errors(np.clip(shares, 0.0, 1.0), releases, law))


def standard_errors(shares: Floats, releases: int, law: ReportingLaw) -> Floats:
    """Return the standard errors of the estimates of these true shares from so many releases."""
    p, q = law.reported_if_true, law.reported_if_other
    variance = q * (1.0 - q) / (p - q) ** 2 + shares * (1.0 - p - q) / (p - q)
    return np.asarray(np.sqrt(variance / releases))
