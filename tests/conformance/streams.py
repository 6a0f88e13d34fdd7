"""Runs a mechanism over keyed streams, cut into steps in any way a dataflow might cut them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from fugu.dataflows.state.row_block import Body, column_bytes
from fugu.operators.mechanism import Array, Draws, Inputs, Integers, State, TimedMechanism, Words
from fugu.operators.randomness import DrawScope, Secret, record_positions
from tests.conformance.example import Example

Bytes = dict[str, bytes]


@dataclass(frozen=True)
class Stored:
    """A column as the bytes that a row log writes, and what is needed to read it back."""

    dtype: str
    shape: tuple[int, ...]
    content: bytes

    @classmethod
    def of(cls, column: Array) -> "Stored":
        [content] = column_bytes({"": column})
        return cls(column.dtype.str, column.shape, bytes(content))

    def load(self) -> Array:
        like = np.empty((0, *self.shape[1:]), dtype=self.dtype)
        return Body(memoryview(self.content), 0).take_columns({"": like}, self.shape[0])[""]


@dataclass(frozen=True)
class WatchedDraws:
    """Draws that remember, call by call, what every row was bound to."""

    draws: Draws
    bindings: list[Sequence[bytes]] = field(default_factory=list)

    def words(
        self, purpose: str, binding: Sequence[bytes], *, coordinates: int = 1, count: int = 1
    ) -> Words:
        self.bindings.append(binding)
        return self.draws.words(purpose, binding, coordinates=coordinates, count=count)


class Streams:
    """`rows` streams; each `advance` releases one position of some of them."""

    def __init__(self, example: Example, rows: int) -> None:
        self.mechanism = example.mechanism
        self.accepted = example.accepted
        self.scope = DrawScope(
            Secret(bytes(range(32))), "conformance", "op", 1, example.mechanism.law_digest()
        )
        self.state: State = example.mechanism.start(rows)
        self.releases: list[list[Bytes]] = [[] for _ in range(rows)]

    def advance(self, rows: Sequence[int], choices: Integers) -> None:
        """Row `rows[i]` gets the accepted value number `choices[i]` at its next position."""
        index = np.array(rows, dtype=np.int64)
        taken = {name: column[index] for name, column in self.state.items()}
        if isinstance(self.mechanism, TimedMechanism):
            taken = self.mechanism.elapse(taken, self.ticks(rows))
        state, releases = self.mechanism.step(
            taken, Inputs(self.accepted[choices]), self.draws(rows)
        )
        for name, column in state.items():
            self.state[name][index] = column
        for i, row in enumerate(rows):
            let_out = {"value": releases.values, **releases.annotations}
            if releases.kinds is not None:
                let_out["kind"] = releases.kinds
            self.releases[row].append(
                {name: Stored.of(column[i : i + 1]).content for name, column in let_out.items()}
            )

    def ticks(self, rows: Sequence[int]) -> Integers:
        """Return ticks of the next position: the same as the last, later by some, or earlier."""
        at = np.array([len(self.releases[row]) for row in rows], dtype=np.int64)
        return at * (at + np.array(rows, dtype=np.int64)) % 23

    def draws(self, rows: Sequence[int]) -> Draws:
        keys = [f"stream {row}".encode() for row in rows]
        positions = [record_positions("topic", row, [len(self.releases[row])])[0] for row in rows]
        return self.scope.draws(keys, positions)

    def run(self, cuts: Iterable[Sequence[int]], truth: Integers) -> "Streams":
        """Advance by each cut; `truth (rows, steps)` says what each stream holds where."""
        for rows in cuts:
            at = [len(self.releases[row]) for row in rows]
            self.advance(rows, truth[list(rows), at])
        return self

    def snapshot(self) -> dict[str, Stored]:
        return {name: Stored.of(column) for name, column in self.state.items()}
