"""Streams of single records, told apart by their keys, that one mechanism releases."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from fugu.dataflows.base.errors import BudgetExhausted, StartRefused
from fugu.dataflows.state.row_table import RowTable
from fugu.mechanisms import checked_per_record
from fugu.operators.budget import without_budget
from fugu.operators.columns import encode_each, encode_fields
from fugu.operators.mechanism import (
    Array,
    Draws,
    Inputs,
    Integers,
    Kind,
    Mechanism,
    Releases,
    State,
)
from fugu.operators.multi_step import occurrences, placed_releases, rounds_of_distinct_rows, running
from fugu.operators.randomness import DrawScope, Secret, draws_of
from fugu.operators.temporal.temporal_perturbation import TemporalPerturbation

Values = Sequence[Any] | Array
Key = TypeVar("Key", str, bytes)
Snapshot = tuple[bytes, State]
"""The digest that `Advance` has, and a row."""

_POSITION = "position"
_VERSION = 1
_AT_A_TIME = 1_000


@dataclass(frozen=True, slots=True)
class Release:
    """Hold what is let out for one record: its value, its kind and annotations, all public."""

    value: Any
    kind: Kind
    annotations: Mapping[str, Any]


def release(
    mechanism: Mechanism,
    records: Iterable[tuple[Key, Any]],
    secret: Secret,
    *,
    name: str = "release",
) -> Iterator[tuple[Key, Release]]:
    """Yield the releases of keyed records, in their order; nothing for what is suppressed.

    Records of one key are one stream. Draws depend on the secret, `name`, the key, the position in
    its stream, and the value: the same call gives the same releases again. Give every other data
    set a name of its own, or a secret: where two have the same value at the same place, they would
    have the same release, which shows that they are equal. Up to 1,000 records are read at a time.
    """
    return _of_records(Advance(mechanism, secret, name), iter(records))


def release_arrays(
    mechanism: Mechanism,
    keys: Iterable[str] | Iterable[bytes],
    values: Values,
    secret: Secret,
    *,
    name: str = "release",
) -> Releases:
    """Return the releases of `values[i]` in the stream `keys[i]`, as arrays of the same length.

    They are those of `release`. Where `kinds` is `Kind.SUPPRESSED` there is nothing to publish;
    without `kinds` all are fresh.
    """
    advance = Advance(mechanism, secret, name)
    return _of_table(advance, RowTable(advance.start), keys, values)


class Advance:
    """Release records of streams with draws that only this secret, name and mechanism have."""

    def __init__(self, mechanism: Mechanism, secret: Secret, name: str) -> None:
        self._mechanism = checked_per_record(mechanism)
        self._running = running(mechanism)
        self._holds_payloads = isinstance(without_budget(mechanism), TemporalPerturbation)
        law = mechanism.law_digest()
        own = secret.derive("fugu-streams-v1")
        self._scope = DrawScope(own, name, mechanism.kind, _VERSION, law)
        fields = encode_fields("fugu-streams-v1", name, mechanism.kind, law, own.check_value())
        self.digest = blake2b(fields, digest_size=16).digest()
        """Identifies everything that draws depend on beside the record."""

    def start(self, rows: int) -> State:
        """Return the columns of streams that have released nothing yet."""
        return {**self._mechanism.start(rows), _POSITION: np.zeros(rows, dtype=np.int64)}

    def __call__(
        self, state: State, rows: Integers, keys: Sequence[bytes], values: Values
    ) -> tuple[State, Releases]:
        """Release `values[i]` in row `rows[i]` of the state, whose key is `keys[i]`.

        The state has every row once, and is not modified.
        """
        inputs = Inputs(self._taken(values))
        draws = self._scope.draws(keys, encode_each(state[_POSITION][rows] + occurrences(rows)))
        inner = {name: column for name, column in state.items() if name != _POSITION}
        if self._running is None:
            after, releases = self._in_rounds(inner, rows, inputs, draws)
        else:
            run = self._running.run(inner, rows, inputs, draws)
            after, releases = run.state, run.releases
        if _kinds_of(releases).count(Kind.STOPPED):
            raise BudgetExhausted(
                "a stream cannot pay for another release, and when_exhausted is stop: release "
                "nothing more of it, or choose what is published instead"
            )
        position = state[_POSITION] + np.bincount(rows, minlength=len(state[_POSITION]))
        return {**after, _POSITION: position}, releases

    def restored(self, snapshot: Snapshot) -> State:
        """Return the state of a snapshot, if its draws are those of this secret, name and law."""
        digest, state = snapshot
        if digest != self.digest:
            raise StartRefused(
                "the stored state belongs to another mechanism, secret or step: records that come "
                "again would be released with other noise. Go on with those that it was stored "
                "with, or start without it, with a new step id, over records that were not released"
            )
        return state

    def _taken(self, values: Values) -> Array:
        """Return payloads as they are, and anything else as integers."""
        if self._holds_payloads:
            taken: Array = np.empty(len(values), dtype=object)
            taken[:] = values
            return taken
        taken = np.asarray(values)
        if taken.size == 0:
            return np.zeros(0, dtype=np.int64)
        if taken.ndim != 1 or not np.can_cast(taken.dtype, np.int64):
            raise TypeError(
                f"{self._mechanism.kind} takes one integer for each record: the index of a symbol, "
                "or a number of units"
            )
        return taken.astype(np.int64)

    def _in_rounds(
        self, state: State, rows: Integers, inputs: Inputs, draws: Draws
    ) -> tuple[State, Releases]:
        """Step once for the first record of every row, once more for the second, and so on."""
        after = {name: column.copy() for name, column in state.items()}
        parts = []
        for chosen in rounds_of_distinct_rows(rows):
            row = rows[chosen]
            its = draws_of(draws, chosen, len(rows))
            before = {name: column[row] for name, column in after.items()}
            stepped, releases = self._mechanism.step(before, Inputs(inputs.values[chosen]), its)
            for name, column in stepped.items():
                after[name][row] = column
            parts.append((chosen, releases))
        return after, placed_releases(parts, len(rows))


def _of_table(
    advance: Advance, table: RowTable, keys: Iterable[str] | Iterable[bytes], values: Values
) -> Releases:
    names = [key.encode() if isinstance(key, str) else key for key in keys]
    distinct, rows = np.unique(table.rows_of(names), return_inverse=True)
    state, releases = advance(table.gather(distinct), rows, names, values)
    table.scatter(distinct, state)
    return releases


def _of_records(
    advance: Advance, records: Iterator[tuple[Key, Any]]
) -> Iterator[tuple[Key, Release]]:
    table = RowTable(advance.start)
    while chunk := list(islice(records, _AT_A_TIME)):
        keys, values = [key for key, _ in chunk], [value for _, value in chunk]
        yield from published(keys, _of_table(advance, table, keys, values))


def published(keys: Sequence[Key], releases: Releases) -> Iterator[tuple[Key, Release]]:
    """Yield what is published as plain Python values, with its key."""
    notes = {name: column.tolist() for name, column in releases.annotations.items()}
    values = releases.values.tolist()
    for i, kind in enumerate(_kinds_of(releases)):
        if kind != Kind.SUPPRESSED:
            yield keys[i], Release(values[i], Kind(kind), {n: note[i] for n, note in notes.items()})


def _kinds_of(releases: Releases) -> list[int]:
    fresh = [int(Kind.FRESH)] * len(releases.values)
    return fresh if releases.kinds is None else releases.kinds.tolist()
