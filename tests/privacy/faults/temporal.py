"""Plant faults in operators that displace values in time."""

from dataclasses import replace

import numpy as np

from fugu.dataflows.flows import sections
from fugu.dataflows.kinds import (
    backward_perturbation,
    extended_threshold_perturbation,
    forward_perturbation,
    threshold_perturbation,
)
from fugu.dataflows.stages.displaced import PayloadsPerTick
from fugu.operators.columns import ByteColumn, put, taken
from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import Array, Draws, Floats, Integers, Releases, State, Words
from fugu.operators.randomness import unit_interval
from fugu.operators.temporal.random_delays import BackwardPerturbation, ForwardPerturbation, lag_law
from fugu.operators.temporal.threshold import ExtendedThresholdPerturbation, ThresholdPerturbation
from tests.privacy.faults.planted import InAudit, Planted, Replacing


class NextFreeSlot(ThresholdPerturbation):
    """Let a value that must wait take the next free slot, instead of a random one."""

    def _exchange(self, after: State, values: Array, words: Words) -> Array:
        return super()._exchange(after, values, np.zeros_like(words))


class ForgottenStart(ThresholdPerturbation):
    """Reserve the first slots of an epoch, instead of drawing which."""

    def _reserved(self, uniforms: Floats) -> Array:
        return np.tile(np.arange(self.k) < self.pending, (len(uniforms), 1))


class DrainInOrder(ThresholdPerturbation):
    """Let out what waits at the end in the order of its slots."""

    def _arranged(self, state: State, draws: Draws) -> State:
        rows, head = self._head(state)
        ring = (head[:, None] + np.arange(self.k)) % self.k
        places = (rows[:, None], ring)
        order = np.argsort(~state["occupied"][places], axis=1, kind="stable")
        moved = {name: state[name].copy() for name in ("slots", "occupied")}
        for name, column in moved.items():
            column[places] = np.take_along_axis(state[name][places], order, axis=1)
        return {**state, **moved}


class LongerReach(ThresholdPerturbation):
    """Promise that a value may be from a tick k earlier, as the printed Definition 2.1 does."""

    def guarantees(self) -> tuple[Guarantee, ...]:
        [promise] = super().guarantees()
        return (replace(promise, neighbours=replace(promise.neighbours, reach=self.k)),)


class NothingDropped(ExtendedThresholdPerturbation):
    """Publish every value that need not wait."""

    def _accepts(self, words: Words) -> Array:
        return np.ones(len(words), dtype=bool)


class NominalEpsilon(ForwardPerturbation):
    """Promise the epsilon of the choice of a tick for the delays that are seen."""

    def guarantees(self) -> tuple[Guarantee, ...]:
        [promise] = super().guarantees()
        return (replace(promise, epsilon=self.internal_epsilon),)


class LagsOf53Bits(BackwardPerturbation):
    """Draw lags from doubles of 53 bits."""

    def _lags(self, words: Words) -> Integers:
        none, each = lag_law(self.k, self.epsilon)
        drawn = unit_interval(words)
        beyond = np.minimum((drawn - none) / each, self.k - 2).astype(np.int64)
        return np.where(drawn < none, 0, beyond + 1)


class EndsWithRecords(PayloadsPerTick):
    """End an epoch so many ticks after the last record, whenever that leaves."""

    def _step(
        self, state: State, values: Array, there: Array, names: ByteColumn, position: bytes
    ) -> tuple[State, Releases]:
        quiet = np.where(there, 0, state["quiet"] + 1)
        ends = np.flatnonzero(quiet >= self.ticks.idle)
        after, releases = super()._step(
            {**state, "quiet": np.zeros_like(quiet)}, values, there, names, position
        )
        put(after, ends, {**taken(after, ends), **self.mechanism.next_epoch(taken(after, ends))})
        running = np.ones(len(names), dtype=bool)
        running[ends], quiet[ends] = False, 0
        return {**after, "quiet": quiet, "running": running}, releases


RUNS = 2_000
THRESHOLD = Replacing(
    threshold_perturbation,
    "ThresholdPerturbation",
    InAudit("threshold_perturbation", {"window": 6, "epsilon": 3.0}, runs=RUNS),
)
EXTENDED = Replacing(
    extended_threshold_perturbation,
    "ExtendedThresholdPerturbation",
    InAudit("extended_threshold_perturbation", {"window": 6, "epsilon": 1.0}, runs=RUNS),
)
FORWARD = Replacing(
    forward_perturbation,
    "ForwardPerturbation",
    InAudit("forward_perturbation", {"window": 6}, runs=RUNS),
)
BACKWARD = Replacing(
    backward_perturbation,
    "BackwardPerturbation",
    InAudit("backward_perturbation", {"window": 6, "epsilon": 50.0}, runs=RUNS),
)
STAGE = Replacing(
    sections,
    "PayloadsPerTick",
    InAudit("threshold_perturbation", {"window": 4, "ticks": {"width": "1m"}}, runs=RUNS),
)
PLANTED = (
    Planted("drain that shows", ThresholdPerturbation, DrainInOrder, THRESHOLD, 1e-3),
    Planted("time moved by values", PayloadsPerTick, EndsWithRecords, STAGE, 1e-3),
    Planted("law of 53 bits", BackwardPerturbation, LagsOf53Bits, BACKWARD, 1e-3),
    Planted("delay not drawn", ThresholdPerturbation, NextFreeSlot, THRESHOLD, 1e-3),
    Planted("start not drawn", ThresholdPerturbation, ForgottenStart, THRESHOLD, 1e-3),
    Planted("neighbours too far apart", ThresholdPerturbation, LongerReach, THRESHOLD, 1e-3),
    Planted("drop left out", ExtendedThresholdPerturbation, NothingDropped, EXTENDED, 1e-3),
    Planted("epsilon of what is not seen", ForwardPerturbation, NominalEpsilon, FORWARD, 1e-3),
)
