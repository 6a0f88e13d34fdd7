"""Displace values over ticks, with the steps, epochs and audits that such mechanisms share."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum
from hashlib import blake2b
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fugu.operators.columns import DIGEST_BYTES, ByteColumn, copied, digest_of
from fugu.operators.digests import digests_of, extended
from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import (
    Array,
    Draws,
    Floats,
    Inputs,
    Integers,
    Kind,
    Releases,
    State,
    Words,
)
from fugu.operators.temporal.dispatch_law import LARGEST_K, Expected
from fugu.operators.whole_numbers import take_whole_numbers

_NOTHING = np.array(None, dtype=object)
_WORTH_A_COLUMN = 64
"""Fewer payloads are digested sooner one by one."""
_UNREAD = b"null"
"""Digested where there is no payload; the digest is left out."""
_ALLOWED = {bytes, type(None)}


def checked(values: Array) -> Array:
    """Return values if they are an object array of bytes and None; else raise `ValueError`.

    None is a tick without a value, which is treated exactly like one.
    """
    if values.dtype != object or not set(map(type, values.tolist())) <= _ALLOWED:
        raise ValueError("payloads are an object array whose cells are bytes or None")
    return values


def is_there(payloads: Array) -> NDArray[np.bool_]:
    """Return which of them are not None."""
    return np.asarray(np.not_equal(payloads, _NOTHING))


def bound_to(values: Array, histories: Words) -> Sequence[bytes]:
    """Return what draws are applied to: the payload, and through the history all before it.

    >>> values = np.array([b"7", None], dtype=object)
    >>> [len(bound) for bound in bound_to(checked(values), np.zeros(2, dtype=np.uint64))]
    [40, 8]
    """
    payloads, before = values.tolist(), histories.astype("<u8").reshape(-1, 1).view(np.uint8)
    if len(payloads) < _WORTH_A_COLUMN:
        pairs = zip(map(_digest, payloads), before, strict=True)
        return [digest + history.tobytes() for digest, history in pairs]
    digests = digests_of([_UNREAD if value is None else value for value in payloads])
    table = digests.content.reshape(-1, DIGEST_BYTES)
    bound = ByteColumn.of_table(np.hstack([table, before]))
    left_out = np.where(is_there(values), 0, DIGEST_BYTES)
    return ByteColumn(bound.content, bound.begins + left_out, bound.lengths - left_out)


def _digest(value: bytes | None) -> bytes:
    return b"" if value is None else blake2b(value, digest_size=DIGEST_BYTES).digest()


WarmUp = Literal["suppress", "emit"]
Empty = Literal["emit", "skip"]
End = Literal["drain", "discard"]


class Phase(IntEnum):
    """Say where in its epoch a tick is."""

    WARM_UP = 0
    STEADY = 1
    COOL_DOWN = 2


@dataclass(frozen=True, eq=False, kw_only=True)
class TemporalPerturbation(ABC):
    """Let each value out at its own tick or at one of the k-1 that follow.

    One `step` is one tick of each row. Parameters: `k`, 2 to 1000 ticks; `warm_up`: suppress or
    emit ticks 1..k-1 of an epoch, about which nothing is promised; `empty`: emit or skip ticks
    without a value. Raises `ValueError` naming the parameter, and, in `step`, for values that are
    not payloads.

    Input: payloads `(rows,)`, objects that are bytes or None. Release: payloads `(rows,)`, None
    where there is none, annotated with `tick` (from 1), `epoch` and `phase`.
    State: `slots (rows, k)`, a ring of payloads, of which slot (tick mod k) belongs to the tick
    that comes next; `tick (rows,)`, how many ticks of the epoch there were; `epoch (rows,)`; and
    `history (rows,)`, a digest of all words drawn for the row. Draws are bound to the payload and
    to the history, so that streams that once differed never draw the same word again. The state
    holds raw values, and which slot holds what is as secret as they are.

    An epoch ends with `finish` (ticks without input let out what is pending; their delays have
    another law) or with `discard`, and the next one begins.
    """

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
        """Return the state at epoch 0 of every stream, which has not begun."""
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
        """Let out what the slot of a tick without input holds; nothing is dispatched."""
        if (state["tick"] == 0).any():
            raise ValueError("an epoch that has not begun cannot end")
        after = copied(state)
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
        """Begin the next epoch at once; tell how many pending values that drops in each row."""
        return self.next_epoch(state), self._pending(state)

    def next_epoch(self, state: State) -> State:
        """Return an epoch that has not begun; draws stay bound to everything before it."""
        fresh = self.start(len(state["tick"]))
        return {**fresh, "epoch": state["epoch"] + 1, "history": state["history"].copy()}

    @property
    def cool_down_ticks(self) -> int:
        """Return how many ticks without input let out everything that is pending."""
        return self.k - 1

    @property
    @abstractmethod
    def delay_law(self) -> Floats:
        """Return P(the delay of a released value is j ticks), j = 0..k-1, in steady state."""

    @property
    @abstractmethod
    def delay_law_epsilon(self) -> float:
        """Return twice the logarithm of the largest ratio of two entries of the law."""

    @property
    @abstractmethod
    def expected(self) -> Expected:
        """Return what a value suffers on average, in steady state."""

    @property
    @abstractmethod
    def warnings(self) -> tuple[str, ...]:
        """Warn those who configure this; empty where there is nothing to say."""

    @abstractmethod
    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return a bound on the delay law, and what it does not cover."""

    def audit(self) -> Mapping[str, object]:
        """Return exact numbers of the configured law, and what it leaves open.

        Those that a kind does not have are None. Source: TLDP specification, section 6.1.
        """
        law = self.delay_law
        possible = law[law > 0.0]
        return {
            "mechanism": self.kind,
            "k": self.k,
            "c0": None,
            "a": None,
            "eps_nominal": None,
            "eps_delay_law": self.delay_law_epsilon,
            "joint_bound_distinct": None,
            "literal_tldp": False,
            "delay_law": law.tolist(),
            "mean_delay": float((law * np.arange(self.k)).sum()),
            "entropy_bits": float(-(possible * np.log2(possible)).sum()),
            "max_posterior_exchangeable": 1.0,
            "law_only": float(law.max()),
            "impossible_share": None,
            "expected": asdict(self.expected),
            "warmup": {"ticks": self.k - 1, "published": self.warm_up == "emit"},
            "cooldown": {"ticks": self.k - 1},
            "caveats": [*map(str, self.guarantees()[0].not_covered), *self.warnings],
            **self._audited(),
        }

    def law_digest(self) -> bytes:
        """Identify kind, implementation, law, and what is published of it."""
        left_out = ("empty ticks are left out",) if self.empty == "skip" else ()
        return digest_of(
            self.kind, self.implementation, self.k, self.warm_up, *self._identity(), *left_out
        )

    @abstractmethod
    def _audited(self) -> Mapping[str, object]:
        """Return what the audit says about this kind only."""

    @abstractmethod
    def _identity(self) -> tuple[str | int, ...]:
        """Return what decides the law, apart from k."""

    @abstractmethod
    def _exchange(self, after: State, values: Array, words: Words) -> Array:
        """Put each value where its word says, in `after`, and take out what leaves now."""

    def _begun(self, state: State, draws: Draws) -> State:
        """Return a copy, in which rows whose epoch begins now are prepared."""
        return copied(state)

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
        """Return rows, and the slot of each that belongs to the tick that comes next."""
        return np.arange(len(state["tick"])), state["tick"] % self.k

    def _pending(self, state: State) -> Integers:
        """Return how many values have not left yet."""
        return np.asarray(np.count_nonzero(is_there(state["slots"]), axis=1))

    def _published(self, after: State, released: Array, phase: Integers) -> Releases:
        hidden = (after["tick"] < self.k) & (self.warm_up == "suppress")
        released[hidden] = None
        notes = {"tick": after["tick"].copy(), "epoch": after["epoch"].copy(), "phase": phase}
        if self.empty == "skip":
            hidden = hidden | ~is_there(released)
        return Releases(released, notes, np.where(hidden, Kind.SUPPRESSED, Kind.FRESH))
