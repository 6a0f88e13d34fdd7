"""Compute what readers know under a model that comes later, from all releases of a stream.

A stream was released under one law after another: its spans. A release under a law a(y | x) is
evidence for everybody, whatever they believed: the belief of a reader with the new model is the
exact posterior of a hidden Markov chain with these likelihoods. Laws of conditional randomized
response depend on earlier releases alone, so they are found again by following those.

>>> from fugu.operators.responses.generalized_randomized_response import (
...     GeneralizedRandomizedResponse,
... )
>>> from fugu.operators.sip.markov_model import MarkovModel
>>> model = MarkovModel.smoothed([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], smoothing=0.0)
>>> crr = ConditionalRandomizedResponse(model, epsilon=1.0)
>>> grr = GeneralizedRandomizedResponse(symbols=2, epsilon=1.0)
>>> released = [np.array([1, 1]), np.array([], dtype=np.int64)]
>>> _, state = replayed([Span(grr, [0, 1], None, released)], crr, [0, 1])
>>> state["belief"].round(3).tolist(), state["releases"].tolist()
([[0.216, 0.784], [0.5, 0.5]], [2, 0])

Source: SIP specification, section 6 (cold start, and a model that is pooled), section 9 (GRR).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fugu.operators.carrying.carry import carry_between, places_of
from fugu.operators.columns import put, taken
from fugu.operators.mechanism import EnumerableMechanism, Floats, Integers, State
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse

Symbols = Sequence[object]


@dataclass(frozen=True)
class Span:
    """Hold what one law released of each stream: indices in its alphabet, oldest first.

    `other` is the index of the symbol that stood for unknown ones; None: they were refused.
    """

    law: EnumerableMechanism
    alphabet: Symbols
    other: int | None
    released: Sequence[Integers]


def replayed(
    spans: Sequence[Span], becomes: ConditionalRandomizedResponse, alphabet: Symbols
) -> tuple[State, State]:
    """Return the rows of the last law after all spans, and those that the next law begins with.

    Nothing is spent yet in the latter.
    """
    rows = len(spans[0].released)
    laws = [(span.law, span.alphabet) for span in spans[1:]] + [(becomes, alphabet)]
    readers = [
        _Reader(law, symbols, law.start(rows))
        for law, symbols in laws
        if isinstance(law, ConditionalRandomizedResponse)
    ]
    state = spans[0].law.start(rows)
    for number, span in enumerate(spans):
        if number > 0:
            before, reader = spans[number - 1], _reader_of(span.law, readers)
            carry = carry_between(before.law, span.law, places_of(before.alphabet, span.alphabet))
            state = carry.rows(state, None if reader is None else reader.state)
        later = [reader for reader in readers if reader.law not in _laws(spans[: number + 1])]
        state = _followed(span, state, later)
    return state, readers[-1].state


@dataclass
class _Reader:
    """Follow releases under laws of others, with the model of a law that comes later."""

    law: ConditionalRandomizedResponse
    alphabet: Symbols
    state: State

    def read(self, span: Span, rows: Integers, likelihood: Floats, released: Integers) -> None:
        """Take one release of some rows in; `likelihood` is (rows, symbols of the span)."""
        places = places_of(span.alphabet, self.alphabet)
        unknown = 0.0 if span.other is None else likelihood[:, span.other, None]
        mine = np.zeros((len(rows), len(self.alphabet))) + unknown
        mine[:, places] = likelihood
        after = self.law.told(taken(self.state, rows), mine.T, places[released])
        put(self.state, rows, after)


def _followed(span: Span, state: State, readers: Sequence[_Reader]) -> State:
    """Return the rows of a law after what it released, and let readers see it."""
    count = np.array([len(symbols) for symbols in span.released], dtype=np.int64)
    for position in range(count.max(initial=0)):
        rows = np.flatnonzero(count > position)
        released = np.array([span.released[row][position] for row in rows.tolist()], dtype=np.int64)
        now = taken(state, rows)
        likelihood = span.law.release_law(now)[np.arange(len(rows)), :, released]
        for reader in readers:
            reader.read(span, rows, likelihood, released)
        put(state, rows, span.law.follow(now, released))
    return state


def _laws(spans: Sequence[Span]) -> list[EnumerableMechanism]:
    return [span.law for span in spans]


def _reader_of(law: EnumerableMechanism, readers: Sequence[_Reader]) -> _Reader | None:
    return next((reader for reader in readers if reader.law is law), None)
