"""Plain randomized response: a mechanism whose leakage everybody knows, to try auditors on."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from math import exp
from typing import ClassVar

import numpy as np

from fugu.operators.budget_units import units_of
from fugu.operators.columns import binding_digest, encode_fields
from fugu.operators.guarantee import (
    ANY_PRIOR,
    ARRIVALS,
    RAW_VALUES_SEEN,
    Guarantee,
    Neighbours,
    Point,
)
from fugu.operators.mechanism import (
    Array,
    Draws,
    Floats,
    Inputs,
    Integers,
    Releases,
    State,
)
from fugu.operators.randomness import unit_interval


@dataclass(frozen=True)
class RandomizedResponse:
    """The truth with probability e^epsilon / (e^epsilon + n - 1), else any other symbol alike.

    It promises `claimed` nats, which is true if that is at least `epsilon`.
    """

    symbols: int
    epsilon: float
    claimed: float

    kind: ClassVar[str] = "rr"
    implementation: ClassVar[int] = 1

    @property
    def outcomes(self) -> tuple[int, int]:
        return self.symbols, self.symbols

    @property
    def matrix(self) -> Floats:
        weights = np.where(np.eye(self.symbols, dtype=bool), exp(self.epsilon), 1.0)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def start(self, rows: int) -> State:
        return {"spent": np.zeros(rows, dtype=np.int64)}

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        bindings = [binding_digest(symbol) for symbol in range(self.symbols)]
        words = draws.words("release", [bindings[x] for x in inputs.values])
        reached = np.cumsum(self.matrix, axis=1)[inputs.values, :-1]
        released = (reached <= unit_interval(words[:, 0])).sum(axis=1)
        return self.follow(state, released), Releases(released)

    def release_law(self, state: State) -> Floats:
        return np.tile(self.matrix, (len(state["spent"]), 1, 1))

    def follow(self, state: State, released: Integers) -> State:
        return {"spent": state["spent"] + self.largest_charge}

    @property
    def largest_charge(self) -> int:
        return units_of(self.epsilon)

    @property
    def constant(self) -> int:
        return 0

    def next_charge(self, state: State) -> Integers:
        return np.full(len(state["spent"]), self.largest_charge)

    def skip(self, state: State, instead: Array) -> tuple[State, Releases]:
        return dict(state), Releases(instead)

    def guarantees(self) -> tuple[Guarantee, ...]:
        return (
            Guarantee(
                notion="ldp",
                epsilon=self.claimed,
                delta=0.0,
                per="release",
                neighbours=Neighbours("stream", "symbol", "replaced"),
                adversary=ANY_PRIOR,
                accounting=(),
                trust=RAW_VALUES_SEEN,
                assumptions=(),
                not_covered=(ARRIVALS,),
                proof=Point("construction", "by construction"),
                finite_precision_delta=0.0,
            ),
        )

    def audit(self) -> Mapping[str, object]:
        return {"probability of the truth": float(self.matrix[0, 0])}

    def law_digest(self) -> bytes:
        content = encode_fields(self.symbols, self.epsilon.hex())
        return blake2b(content, digest_size=32).digest()
