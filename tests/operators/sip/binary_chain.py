"""Section 10 of the SIP specification: the long-run error of CRR on a binary Markov chain."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import Inputs, Integers
from fugu.operators.sip.conditional_randomized_response import (
    ConditionalRandomizedResponse,
    PaperConditionalRandomizedResponse,
)
from fugu.operators.sip.markov_model import MarkovModel
from tests.operators.chosen_draws import simulated

Configure = Callable[[MarkovModel, float], ConditionalRandomizedResponse]
PAPER: Configure = PaperConditionalRandomizedResponse
BOUNDED: Configure = ConditionalRandomizedResponse
FULL_SUPPORT: Configure = partial(ConditionalRandomizedResponse, mode="full_support")

SEQUENCES = 40
PRINTED_STEPS, PRINTED_ERROR = 10_000, 0.0014
"""The length of the sequences of the printed table, and its largest standard error."""


@dataclass(frozen=True)
class Case:
    """P(first symbol is 1) and P(no change)."""

    first: float
    stays: float

    def model(self) -> MarkovModel:
        other = 1.0 - self.stays
        transition = np.array([[self.stays, other], [other, self.stays]])
        return MarkovModel(np.array([1.0 - self.first, self.first]), transition)

    def truths(self, rng: np.random.Generator, steps: int) -> Integers:
        """`(steps, SEQUENCES)` symbols of independent sequences."""
        first = rng.random(SEQUENCES) < self.first
        changes = rng.random((steps - 1, SEQUENCES)) >= self.stays
        return np.asarray((np.cumsum(np.vstack([first, changes]), axis=0) % 2).astype(np.int64))


CASES = {1: Case(first=0.5, stays=0.5), 2: Case(first=0.9, stays=0.9)}


@dataclass(frozen=True)
class Printed:
    """One line of the table: mean |x - y|."""

    case: int
    epsilon: float
    response: float
    paper: float
    paper_leakage: float
    full_support: float
    bounded: float


TABLE = [
    Printed(1, 0.1, 0.4750, 0.4524, 0.10, 0.4518, 0.4529),
    Printed(1, 0.5, 0.3775, 0.3027, 0.50, 0.3045, 0.3037),
    Printed(1, 1.0, 0.2689, 0.1836, 1.0, 0.1829, 0.1847),
    Printed(1, 1.5, 0.1824, 0.1115, 1.5, 0.1118, 0.1118),
    Printed(1, 2.0, 0.1192, 0.0682, 2.0, 0.0675, 0.0675),
    Printed(1, 3.0, 0.0474, 0.0253, 3.0, 0.0251, 0.0247),
    Printed(2, 0.1, 0.4750, 0.4455, 0.62, 0.4538, 0.4452),
    Printed(2, 0.5, 0.3775, 0.2398, 1.51, 0.3067, 0.2875),
    Printed(2, 1.0, 0.2689, 0.1059, 1.90, 0.1863, 0.1661),
    Printed(2, 1.5, 0.1824, 0.0539, 2.08, 0.0979, 0.0998),
    Printed(2, 2.0, 0.1192, 0.0292, 2.17, 0.0349, 0.0349),
    Printed(2, 3.0, 0.0474, 0.0098, 3.00, 0.0096, 0.0095),
]


@dataclass(frozen=True)
class Measured:
    """Mean error over sequences, its standard error, and the largest charge of a step in nats."""

    error: float
    standard_error: float
    leakage: float

    def agrees_with(self, printed: float, steps: int) -> bool:
        """Within 4 combined standard errors, or 0.006 where sequences are as long as printed."""
        combined = np.hypot(self.standard_error, PRINTED_ERROR)
        tolerance = 4.0 * combined
        if steps == PRINTED_STEPS:
            tolerance = max(tolerance, 0.006)
        return bool(abs(self.error - printed) <= tolerance)


def measure(configure: Configure, case: Case, epsilon: float, *, steps: int, seed: int) -> Measured:
    """Release 40 simulated sequences with simulated draws."""
    rng = np.random.default_rng(seed)
    mechanism = configure(case.model(), epsilon)
    state, wrong, largest = mechanism.start(SEQUENCES), np.zeros(SEQUENCES), 0
    for truth in case.truths(rng, steps):
        before = state["spent"]
        state, releases = mechanism.step(state, Inputs(truth), simulated(rng, SEQUENCES))
        largest = max(largest, int((state["spent"] - before).max()))
        wrong += releases.values != truth
    errors = wrong / steps
    return Measured(
        error=float(errors.mean()),
        standard_error=float(errors.std(ddof=1) / np.sqrt(SEQUENCES)),
        leakage=in_nats(largest),
    )
