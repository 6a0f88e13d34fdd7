"""Hold every mechanism to the same suite, one position at a time."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np
import pytest

from fugu.operators.mechanism import (
    AT_THE_END,
    ExhaustibleMechanism,
    Inputs,
    Integers,
    TimedMechanism,
)
from fugu.operators.randomness import record_positions
from tests.conformance.example import Example
from tests.conformance.examples import each_example
from tests.conformance.streams import Stored, Streams, WatchedDraws
from tests.thinned import first_in_test

ROWS, STEPS = 5, 12
POSITIONS = 60


def truth(example: Example, seed: int = 1) -> Integers:
    rng = np.random.default_rng(seed)
    return rng.integers(len(example.accepted), size=(ROWS, STEPS))


def all_at_once() -> Iterator[Sequence[int]]:
    return (range(ROWS) for _ in range(STEPS))


def one_by_one() -> Iterator[Sequence[int]]:
    return ([row] for row in range(ROWS) for _ in range(STEPS))


def at_random(seed: int) -> Iterator[Sequence[int]]:
    rng, left = np.random.default_rng(seed), np.full(ROWS, STEPS)
    while left.any():
        waiting = np.flatnonzero(left)
        rows = rng.permutation(waiting)[: rng.integers(0, len(waiting) + 1)]
        left[rows] -= 1
        yield rows.tolist()


@pytest.mark.parametrize("seed", first_in_test(range(3), 1))
def test_how_input_is_cut_into_batches_never_shows(example: Example, seed: int) -> None:
    whole = Streams(example, ROWS).run(all_at_once(), truth(example))
    for cuts in (one_by_one(), at_random(seed)):
        other = Streams(example, ROWS).run(cuts, truth(example))
        assert other.releases == whole.releases
        assert other.snapshot() == whole.snapshot()


def test_a_replay_from_a_stored_state_gives_the_same_bytes(
    configure: Callable[[], Example],
) -> None:
    """By a process that configures the mechanism again and reads its state back from bytes."""
    example = configure()
    cuts = list(at_random(seed=9))
    streams = Streams(example, ROWS).run(cuts[:5], truth(example))
    stored = streams.snapshot()
    count = [len(released) for released in streams.releases]
    finished = streams.run(cuts[5:], truth(example))
    again = Streams(configure(), ROWS)
    again.state = {name: column.load() for name, column in stored.items()}
    again.releases = [released[:n] for released, n in zip(finished.releases, count, strict=True)]
    again.run(cuts[5:], truth(example))
    assert again.releases == finished.releases
    assert again.snapshot() == finished.snapshot()


def test_state_is_columns_of_numbers_or_payloads_and_does_not_grow(example: Example) -> None:
    start = Streams(example, ROWS)
    before = start.snapshot()
    after = start.run(all_at_once(), truth(example)).snapshot()
    for name, column in start.state.items():
        assert column.dtype.kind in "biufSVO"
        assert column.dtype.isnative
        if column.dtype == object:
            assert set(map(type, column.ravel().tolist())) <= {bytes, type(None)}
        assert column.shape[0] == ROWS
        assert (after[name].dtype, after[name].shape) == (before[name].dtype, before[name].shape)
        assert example.mechanism.start(0)[name].shape == (0, *column.shape[1:])
        assert example.mechanism.start(0)[name].dtype == column.dtype


def test_an_empty_step_is_possible(example: Example) -> None:
    streams = Streams(example, ROWS)
    streams.advance([], np.zeros(0, dtype=np.int64))
    assert streams.snapshot() == Streams(example, ROWS).snapshot()


def test_rows_are_independent(example: Example) -> None:
    """Another history and another input of the other rows change nothing for row 0."""
    one = Streams(example, ROWS).run(all_at_once(), truth(example))
    others = truth(example, seed=2)
    others[0] = truth(example)[0]
    other = Streams(example, ROWS).run(all_at_once(), others)
    assert other.releases[0] == one.releases[0]
    for name in one.state:
        assert Stored.of(other.state[name][:1]) == Stored.of(one.state[name][:1])


def test_other_data_at_the_same_position_draw_other_words(example: Example) -> None:
    """Equal bindings draw equal words, which is right where the data are equal to the mechanism.

    One that draws nothing gets what is random with its input.
    """
    mechanism, accepted = example.mechanism, example.accepted
    scope = Streams(example, 0).scope
    for offset in range(POSITIONS):
        positions = record_positions("topic", 0, [offset] * len(accepted))
        draws = WatchedDraws(scope.draws([b"key"] * len(accepted), positions))
        _, releases = mechanism.step(mechanism.start(len(accepted)), Inputs(accepted), draws)
        for one, other in combinations(range(len(accepted)), 2):
            bindings = draws.bindings
            if bindings and all(bound[one] == bound[other] for bound in bindings):
                same = releases.values[one] == releases.values[other]
                assert np.all(same)


@pytest.mark.parametrize("rows", first_in_test([ROWS, 1], 1))
def test_inputs_and_state_are_neither_modified_nor_kept(example: Example, rows: int) -> None:
    mechanism, streams = example.mechanism, Streams(example, rows)
    for step in range(4):
        state, values = streams.state, example.accepted[truth(example)[:rows, step]]
        given = {**state, "values": values}
        before = {name: Stored.of(column) for name, column in given.items()}
        for column in given.values():
            column.setflags(write=False)
        after, releases = mechanism.step(state, Inputs(values), streams.draws(range(rows)))
        assert {name: Stored.of(column) for name, column in given.items()} == before
        handed_out = [*after.values(), releases.values, *releases.annotations.values()]
        handed_out += [] if releases.kinds is None else [releases.kinds]
        for fresh in handed_out:
            assert not any(np.shares_memory(fresh, column) for column in given.values())
            assert fresh.flags.writeable
        for number, fresh in enumerate(handed_out):
            assert not any(np.shares_memory(fresh, other) for other in handed_out[:number])
        streams.state = after


@each_example(lambda mechanism: isinstance(mechanism, TimedMechanism))
def test_time_matters_exactly_where_a_tick_has_a_length(example: Example) -> None:
    mechanism, streams = example.mechanism, Streams(example, ROWS)
    assert isinstance(mechanism, TimedMechanism)
    state = streams.run([range(ROWS), range(ROWS)], truth(example)).state
    before = streams.snapshot()
    for column in state.values():
        column.setflags(write=False)
    later = mechanism.elapse(state, np.full(ROWS, 1_000))
    assert streams.snapshot() == before
    changed = any(later[name].tobytes() != column.tobytes() for name, column in state.items())
    assert changed == (mechanism.tick_milliseconds is not None)


def test_two_starts_share_nothing(example: Example) -> None:
    first, second = example.mechanism.start(1), example.mechanism.start(1)
    for name, column in first.items():
        assert column.flags.writeable
        assert not np.shares_memory(column, second[name])


@each_example(lambda mechanism: isinstance(mechanism, ExhaustibleMechanism))
def test_a_stream_that_has_come_to_its_end_is_its_lasting_columns(example: Example) -> None:
    """Whoever keeps only those of an ended stream goes on exactly as with the whole row."""
    mechanism = example.mechanism
    assert isinstance(mechanism, ExhaustibleMechanism)
    streams = Streams(example, ROWS).run(all_at_once(), truth(example))
    ended = mechanism.exhausted(streams.state)
    fresh = mechanism.start(ROWS)
    for name in fresh.keys() - set(mechanism.lasting):
        assert streams.state[name][ended].tobytes() == fresh[name][ended].tobytes()
    assert ((mechanism.level(streams.state) == AT_THE_END) == ended).all()
    before = streams.snapshot()
    streams.advance(range(ROWS), truth(example, seed=3)[:, 0])
    for name, column in streams.state.items():
        assert (column[ended] == before[name].load()[ended]).all()
    assert bool(ended.any()) == bool(mechanism.lasting)
