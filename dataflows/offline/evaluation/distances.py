"""In which distance releases of symbols are compared with the truth: the one that is declared."""

from fugu.operators.mechanism import Mechanism
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.distances import HAMMING, Distance, Ordered

IN_WORDS = {
    "ordered": "places in the alphabet",
    "points": "Euclidean, between the declared points",
}
"""Distances whose mean says more than how often releases are wrong."""


def declared_distance(mechanism: Mechanism) -> Distance:
    """What the mechanism, without its budget, is to keep small; right or wrong, where it has
    nothing to choose."""
    match mechanism:
        case ConditionalRandomizedResponse(distance=distance) | BatchedRelease(distance=distance):
            return distance
        case AdaptiveRelease(distance="steps"):
            return Ordered()
    return HAMMING


def name_of(distance: Distance) -> str:
    """As pipeline files write it."""
    return str(distance.identity()[0])
