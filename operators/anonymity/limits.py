"""State what anonymised windows leave open to somebody who knows a few points."""

from dataclasses import dataclass
from fractions import Fraction

LARGEST_DENOMINATOR = 10**9
"""Bound shares, so that their products with counts of rows fit into 64 bits."""


@dataclass(frozen=True)
class Limits:
    """Hold what every knowledge of `known_points` points at most must leave open: `people` behind
    it, and no category with a share above `confidence`; `linked`: rows of a user are recognised.

    Errors: `people` below 2, `known_points` below 1, a `confidence` that is no fraction, not
    between 0 and 1, or has a denominator above 10^9.
    """

    people: int
    known_points: int
    confidence: Fraction
    linked: bool = False

    def __post_init__(self) -> None:
        if self.people < 2:
            raise ValueError("people: K must be at least 2; one person is no crowd")
        if self.known_points < 1:
            raise ValueError("known_points: rho must be at least 1")
        if not isinstance(self.confidence, Fraction):
            raise ValueError("confidence: sigma must be an exact fraction, such as 1/2")
        if not 0 < self.confidence < 1:
            raise ValueError("confidence: sigma must lie between 0 and 1, without either")
        if self.confidence.denominator > LARGEST_DENOMINATOR:
            raise ValueError("confidence: write sigma with a denominator of at most 1,000,000,000")
