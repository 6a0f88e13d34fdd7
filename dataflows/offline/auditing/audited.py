"""Hold what a family of operators gives an audit: exact worst cases, checks, and attacks to run."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol

from fugu.operators.guarantee import Notion
from fugu.operators.mechanism import Floats
from fugu.operators.randomness import Secret

ROOT = Secret(blake2b(b"fugu audit", digest_size=32).digest())
"""Known to everybody; what is run under it is made up."""
ROUNDING = 1e-9
"""Nats, and total variation, that the doubles of an enumeration may be off by."""

Advance = Callable[[int], None]
"""Takes how many more runs are done."""
Leaks = tuple[float, float]
"""The largest privacy loss of one input against the other, and the other way round, in nats."""


class World(Protocol):
    """Run the pipeline on one input, many times; equal worlds are run once, so it has a hash."""

    def seen(self, runs: int, seed: tuple[int, int], advance: Advance) -> Floats:
        """Return all that readers of the sanitized topic see, shape (runs, columns).

        Every run has a secret, or a key, of its own; all follow from `seed`. NaN stands where
        nothing is published. `advance` is told how many runs are done.
        """
        ...


@dataclass(frozen=True)
class Attack:
    """Compare runs of two neighbouring inputs; (`claim`, `delta`) is promised about them.

    `exact` is the true loss of these two inputs, where it can be computed.
    """

    notion: Notion
    name: str
    one: World
    other: World
    claim: float
    delta: float = 0.0
    exact: Leaks | None = None


@dataclass(frozen=True)
class WorstCase:
    """Hold the largest privacy loss over all neighbouring inputs and all outputs, and the claim.

    `extent` says what is covered, such as "releases 1 to 3" or "window of 4 ticks".
    """

    notion: Notion
    about: str
    extent: str
    claim: float
    leaked: float

    @property
    def broken(self) -> bool:
        return self.leaked > self.claim + ROUNDING


@dataclass(frozen=True)
class Check:
    """Hold a yes-or-no finding, such as that the ledger covers every path; `found` has numbers."""

    about: str
    passed: bool
    found: str = ""


@dataclass(frozen=True)
class Audited:
    """Hold everything about one pipeline that is known before its attacks run.

    `not_reached` says which parts of the claim, and which phases of the pipeline, neither the
    worst cases nor the attacks look at.
    """

    worst: tuple[WorstCase, ...]
    checks: tuple[Check, ...]
    attacks: tuple[Attack, ...]
    not_reached: tuple[str, ...]
    sound: bool = True
