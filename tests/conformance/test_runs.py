"""A run of several positions of one row is what one position after the other gives, bit for bit."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fugu.operators.mechanism import ExhaustibleMechanism, Inputs, Integers, RunningMechanism
from fugu.operators.multi_step import running
from fugu.operators.randomness import record_positions
from tests.conformance.example import Example
from tests.conformance.examples import each_example, examples_where
from tests.conformance.kinds import KINDS
from tests.conformance.streams import Stored, Streams

ROWS = 5
RUNNING = {"adaptive_crr", "crr", "grr", "laplace", "oue", "pba_ldp", "budget_absorption_ldp"}


def advance_in_one_run(
    streams: Streams, mechanism: RunningMechanism, rows: Integers, choices: Integers
) -> Integers:
    """Appends to `streams` what a run releases; the levels of its ledger."""
    index, row = np.unique(rows, return_inverse=True)
    before = Counter[int]()
    positions = []
    for one in rows.tolist():
        offset = len(streams.releases[one]) + before[one]
        positions.append(record_positions("topic", one, [offset])[0])
        before[one] += 1
    draws = streams.scope.draws([b"stream %d" % one for one in rows.tolist()], positions)
    taken = {name: column[index] for name, column in streams.state.items()}
    given = [*taken.values(), *(column.copy() for column in taken.values())]
    run = mechanism.run(taken, row, Inputs(streams.accepted[choices]), draws)
    for column, copied in zip(given[: len(taken)], given[len(taken) :], strict=True):
        assert column.tobytes() == copied.tobytes()
    for name, column in run.state.items():
        assert column.dtype == streams.state[name].dtype
        streams.state[name][index] = column
    for i, one in enumerate(rows.tolist()):
        let_out = {"value": run.releases.values, **run.releases.annotations}
        if run.releases.kinds is not None:
            let_out["kind"] = run.releases.kinds
        streams.releases[one].append(
            {name: Stored.of(column[i : i + 1]).content for name, column in let_out.items()}
        )
    if isinstance(mechanism, ExhaustibleMechanism):
        return mechanism.level(run.ledger)
    return run.ledger["spent"]


def advance_one_by_one(streams: Streams, rows: Integers, choices: Integers) -> Integers:
    levels = []
    for row, choice in zip(rows.tolist(), choices, strict=True):
        streams.advance([row], np.array([choice]))
        state = {name: column[[row]] for name, column in streams.state.items()}
        if isinstance(streams.mechanism, ExhaustibleMechanism):
            levels.append(int(streams.mechanism.level(state)[0]))
        else:
            levels.append(int(state["spent"][0]))
    return np.array(levels, dtype=np.int64)


@settings(max_examples=6)
@given(
    st.lists(st.lists(st.integers(0, ROWS - 1), max_size=24), min_size=1, max_size=3),
    st.integers(0, 2**32),
)
@pytest.mark.parametrize("chosen", examples_where(running))
def test_a_run_is_one_position_after_the_other(
    chosen: tuple[str, int], batches: Sequence[Sequence[int]], seed: int
) -> None:
    kind, number = chosen
    example = KINDS[kind].examples()[number]
    mechanism = running(example.mechanism)
    assert mechanism is not None
    rng = np.random.default_rng(seed)
    together, alone = Streams(example, ROWS), Streams(example, ROWS)
    for batch in batches:
        rows = np.array(batch, dtype=np.int64)
        choices = rng.integers(len(example.accepted), size=len(rows))
        ledger = advance_in_one_run(together, mechanism, rows, choices)
        assert ledger.tolist() == advance_one_by_one(alone, rows, choices).tolist()
        assert together.releases == alone.releases
        assert together.snapshot() == alone.snapshot()


def test_which_kinds_run() -> None:
    """Without budgets that have a window, and without time."""
    kinds = {
        kind
        for kind, entry in KINDS.items()
        if any(running(example.mechanism) for example in entry.examples())
    }
    assert kinds >= RUNNING


@each_example(lambda mechanism: running(mechanism) and isinstance(mechanism, ExhaustibleMechanism))
def test_a_run_where_all_streams_have_ended_repeats_releases(example: Example) -> None:
    mechanism = running(example.mechanism)
    assert mechanism is not None
    assert isinstance(mechanism, ExhaustibleMechanism)
    streams = Streams(example, ROWS)
    rows = np.repeat(np.arange(ROWS), 30)
    for _ in range(2):
        advance_in_one_run(streams, mechanism, rows, np.zeros(len(rows), dtype=np.int64))
    ended = mechanism.exhausted(streams.state)
    assert ended.all()
    before = streams.snapshot()
    advance_in_one_run(streams, mechanism, rows, np.zeros(len(rows), dtype=np.int64))
    assert streams.snapshot() == before
    assert all(released[-1] == released[40] for released in streams.releases)
