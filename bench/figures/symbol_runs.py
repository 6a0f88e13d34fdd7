"""Run mechanisms of symbols over sequences of the same length, with simulated draws."""

import numpy as np

from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import Inputs, Integers, Kind, Mechanism
from tests.operators.noise.simulated import SimulatedDraws


def released(mechanism: Mechanism, truths: Integers, seed: int) -> tuple[Integers, float]:
    """Return what is released of `truths (steps, rows)`, and what a symbol costs, in nats.

    Of batches, an unfinished last one is left out.
    """
    draws, state = SimulatedDraws(np.random.default_rng(seed)), mechanism.start(truths.shape[1])
    parts: list[Integers] = []
    for symbols in truths:
        state, releases = mechanism.step(state, Inputs(symbols), draws)
        if releases.kinds is None or (releases.kinds != Kind.SUPPRESSED).all():
            parts.append(releases.values.T if releases.values.ndim == 2 else releases.values[None])
    found = np.concatenate(parts)
    return found, in_nats(int(state["spent"].mean())) / len(found)
