"""Every kernel by name, for alphabets of any size."""

from dataclasses import dataclass

import numpy as np

from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.distances import HAMMING, Distance, Ordered, Points
from fugu.operators.sip.kernels import Mode, Search
from fugu.operators.sip.markov_model import MarkovModel


def scattered(symbols: int) -> Points:
    """Points in the plane, some of them close to each other."""
    return Points(np.random.default_rng(symbols).normal(size=(symbols, 2)).round(1) * 3.0)


@dataclass(frozen=True)
class Choices:
    """A distance ("hamming", "ordered" or "points"), a mode, and how to search."""

    distance: str = "hamming"
    mode: Mode = "optimal"
    kernel: Search = "heuristic"

    def distance_of(self, symbols: int) -> Distance:
        by_name: dict[str, Distance] = {"hamming": HAMMING, "ordered": Ordered()}
        return by_name.get(self.distance) or scattered(symbols)

    def configured(self, model: MarkovModel, epsilon: float) -> ConditionalRandomizedResponse:
        distance = self.distance_of(model.symbols)
        return ConditionalRandomizedResponse(model, epsilon, distance, self.mode, self.kernel)


HEURISTIC = {
    "full_support": Choices(mode="full_support"),
    "ordered": Choices("ordered"),
    "points": Choices("points"),
}
PROGRAMS = {
    f"{distance}, linear_program": Choices(distance, kernel="linear_program")
    for distance in ("hamming", "ordered", "points")
}
KERNELS = HEURISTIC | PROGRAMS
"""All but the default."""
