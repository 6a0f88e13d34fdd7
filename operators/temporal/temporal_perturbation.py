"""What the temporal mechanisms share: a ring of payloads per row, ticks, epochs and how they end.

One `step` is one tick of each row. State: `slots (rows, k)`, a ring of payloads, of which slot
(tick mod k) belongs to the tick that comes next; `tick (rows,)`, how many ticks of the epoch there
were; `epoch (rows,)`; and `history (rows,)`, a digest of all words drawn for the row. Draws are
bound to the payload and to the history, so that streams that once differed never draw the same word
again. The state holds raw values, and which slot holds what is as secret as they are.

Releases: payloads `(rows,)`, None where there is none, annotated with `tick` (from 1), `epoch` and
`phase`. Ticks 1..k-1 of an epoch are its warm-up, and suppressed by default; nothing is promised
about them. An epoch ends with `finish` (ticks without input let out what is pending; their delays
have another law) or with `discard`, and the next one begins.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Literal

import numpy as np

from fugu.operators.byte_fields import digest_of
from fugu.operators.declared import take_whole_numbers
from fugu.operators.mechanism import (
    Array,
    Draws,
    Floats,
    Guarantee,
    Inputs,
    Integers,
    Kind,
    Releases,
    State,
    Words,
)
from fugu.operators.release_digest import extended
from fugu.operators.temporal.audit import audit_object
from fugu.operators.temporal.costs import Expected
from fugu.operators.temporal.dispatch_law import LARGEST_K
from fugu.operators.temporal.payloads import bound_to, checked, is_there

WarmUp = Literal["suppress", "emit"]
Empty = Literal["emit", "skip"]
End = Literal["drain", "discard"]


class Phase(IntEnum):
    """Where in its epoch a tick is."""

    WARM_UP = 0
    STEADY = 1
    COOL_DOWN = 2


@dataclass(frozen=True, eq=False, kw_only=True)
class TemporalPerturbation(ABC):
    """A window of k ticks; a value leaves at its own tick or at one of the k-1 that follow."""

    k: int
    warm_up: WarmUp = "suppress"
    empty: Empty = "emit"

    kind: ClassVar[str]
    implementation: ClassVar[int] = 2
    smallest_k: ClassVar[int] = 2

    def __post_init__(self) -> None:
        take_whole_numbers(self)
        if not isinstance(self.k, int) or not self.smallest_k <= self.k <= LARGEST_K:
            raise ValueError(
                f"k: must be a whole number of ticks, {self.smallest_k} to {LARGEST_K}, "
                f"not {self.k}"
            )
        if self.warm_up not in ("suppress", "emit"):
            raise ValueError("warm_up: must be suppress or emit")
        if self.empty not in ("emit", "skip"):
            raise ValueError("empty: must be emit or skip")

    def start(self, rows: int) -> State:
        """Epoch 0 of every stream, which has not begun."""
        return {
            "slots": np.full((rows, self.k), None, dtype=object),
            "tick": np.zeros(rows, dtype=np.int64),
            "epoch": np.zeros(rows, dtype=np.int64),
            "history": np.zeros(rows, dtype=np.uint64),
        }

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        """Take one payload in, and let at most one out."""
        values = checked(inputs.values)
        after = self._begun(state, draws)
        words = draws.words("delay", bound_to(values, state["history"]))[:, 0, 0]
        released = self._exchange(after, values, words)
        after["history"] = extended(state["history"], words.view(np.int64))
        after["tick"] += 1
        phase = np.where(after["tick"] < self.k, Phase.WARM_UP, Phase.STEADY)
        return after, self._published(after, released, phase)

    def cool_down(self, state: State) -> tuple[State, Releases]:
        """One tick without input: it lets out what its slot holds, and nothing is dispatched."""
        if (state["tick"] == 0).any():
            raise ValueError("an epoch that has not begun cannot end")
        after = {name: column.copy() for name, column in state.items()}
        released = self._leave(after)
        after["tick"] += 1
        return after, self._published(after, released, np.full(len(released), Phase.COOL_DOWN))

    def finish(self, state: State, draws: Draws) -> tuple[State, tuple[Releases, ...]]:
        """Cool down for as many ticks as something may be pending, and begin the next epoch."""
        state, releases = self._arranged(state, draws), []
        for _ in range(self.cool_down_ticks):
            state, released = self.cool_down(state)
            releases.append(released)
        return self.next_epoch(state), tuple(releases)

    def discard(self, state: State) -> tuple[State, Integers]:
        """Begin the next epoch at once; and how many pending values that drops in each row."""
        return self.next_epoch(state), self._pending(state)

    def next_epoch(self, state: State) -> State:
        """An epoch that has not begun; draws stay bound to everything before it."""
        fresh = self.start(len(state["tick"]))
        return {**fresh, "epoch": state["epoch"] + 1, "history": state["history"].copy()}

    @property
    def cool_down_ticks(self) -> int:
        """How many ticks without input let out everything that is pending."""
        return self.k - 1

    @property
    @abstractmethod
    def delay_law(self) -> Floats:
        """P(the delay of a released value is j ticks), j = 0..k-1, in steady state."""

    @property
    @abstractmethod
    def delay_law_epsilon(self) -> float:
        """Twice the logarithm of the largest ratio of two entries of the law."""

    @property
    @abstractmethod
    def expected(self) -> Expected:
        """What a value suffers on average, in steady state."""

    @property
    @abstractmethod
    def warnings(self) -> tuple[str, ...]:
        """What whoever configures this should know; empty where there is nothing to say."""

    @abstractmethod
    def guarantees(self) -> tuple[Guarantee, ...]:
        """A bound on the delay law, and what it does not cover."""

    def audit(self) -> Mapping[str, object]:
        """Exact numbers of the configured law, and what it leaves open."""
        return audit_object(
            mechanism=self.kind,
            k=self.k,
            eps_delay_law=self.delay_law_epsilon,
            delay_law=self.delay_law,
            expected=self.expected,
            warm_up=self.warm_up,
            caveats=(*self.guarantees()[0].not_covered, *self.warnings),
            own=self._audited(),
        )

    def law_digest(self) -> bytes:
        """Identifies kind, implementation, law, and what is published of it."""
        left_out = ("empty ticks are left out",) if self.empty == "skip" else ()
        return digest_of(
            self.kind, self.implementation, self.k, self.warm_up, *self._identity(), *left_out
        )

    @abstractmethod
    def _audited(self) -> Mapping[str, object]:
        """What the audit says about this kind only."""

    @abstractmethod
    def _identity(self) -> tuple[str | int, ...]:
        """What decides the law, apart from k."""

    @abstractmethod
    def _exchange(self, after: State, values: Array, words: Words) -> Array:
        """Put each value where its word says, in `after`, and take out what leaves now."""

    def _begun(self, state: State, draws: Draws) -> State:
        """A copy, in which rows whose epoch begins now are prepared."""
        return {name: column.copy() for name, column in state.items()}

    def _arranged(self, state: State, draws: Draws) -> State:
        """Return a state whose slots hold what is pending in the order in which it cools down."""
        return state

    def _leave(self, after: State) -> Array:
        """Take out what the slots of this tick hold."""
        rows, head = self._head(after)
        released: Array = after["slots"][rows, head]
        after["slots"][rows, head] = None
        return released

    def _head(self, state: State) -> tuple[Integers, Integers]:
        """Rows, and the slot of each that belongs to the tick that comes next."""
        return np.arange(len(state["tick"])), state["tick"] % self.k

    def _pending(self, state: State) -> Integers:
        """How many values have not left yet."""
        return np.asarray(np.count_nonzero(is_there(state["slots"]), axis=1))

    def _published(self, after: State, released: Array, phase: Integers) -> Releases:
        hidden = (after["tick"] < self.k) & (self.warm_up == "suppress")
        released[hidden] = None
        notes = {"tick": after["tick"].copy(), "epoch": after["epoch"].copy(), "phase": phase}
        if self.empty == "skip":
            hidden = hidden | ~is_there(released)
        return Releases(released, notes, np.where(hidden, Kind.SUPPRESSED, Kind.FRESH))
