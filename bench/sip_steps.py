"""One step of conditional randomized response: large alphabets with sparse models, and many users.

The baseline in the same run is the same operator with a dense transition matrix, where that fits.
"""

import time
import tracemalloc
from dataclasses import asdict, dataclass

import numpy as np

from bench.grid import Grid, figures
from bench.page import Page
from fugu.operators.mechanism import Floats, Inputs, State
from fugu.operators.randomness import DrawScope, Secret, record_positions
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.markov_model import Chain, MarkovModel
from fugu.operators.sip.sparse_models import SparseMarkovModel, SparseRows

SYMBOLS = (10, 100, 1_000, 10_000)
ENTRIES = 10
USERS = 100_000
_LARGEST_DENSE = 1_000
_SMOOTHING = 0.01
_WARM_STEPS = 3
_SECONDS = 2.0


@dataclass(frozen=True)
class SipStep:
    """CPU seconds and new memory of one step of `rows` streams, and the state of one stream."""

    symbols: int
    rows: int
    model: str
    seconds: float
    peak_bytes: int
    state_bytes: int


def measure_steps(epsilon: float = 1.0) -> list[SipStep]:
    """One stream for every alphabet, sparse and dense; then many streams of ten symbols."""
    steps = []
    for symbols in SYMBOLS:
        steps.append(_measure(sparse_model(symbols), "sparse", 1, epsilon))
        if symbols <= _LARGEST_DENSE:
            steps.append(_measure(dense_model(symbols), "dense", 1, epsilon))
    steps.append(_measure(sparse_model(10), "sparse", USERS, epsilon))
    steps.append(_measure(dense_model(10), "dense", USERS, epsilon))
    return steps


def sparse_model(symbols: int) -> SparseMarkovModel:
    """Ten possible successors for every symbol, some as likely as all others together."""
    entries = min(ENTRIES, symbols)
    successors = [
        {(7 * symbol + k * k) % symbols: 0.5 / entries for k in range(entries)}
        for symbol in range(symbols)
    ]
    rows = [(row, 1.0 - sum(row.values())) for row in successors]
    return SparseMarkovModel(_zipf(symbols), SparseRows.smoothed(rows, symbols, _SMOOTHING))


def dense_model(symbols: int) -> MarkovModel:
    """The same size, with every entry written out."""
    return MarkovModel.smoothed(
        _zipf(symbols), np.tile(_zipf(symbols), (symbols, 1)), smoothing=_SMOOTHING
    )


def _zipf(symbols: int) -> Floats:
    weights = 1.0 / np.arange(1, symbols + 1)
    shares: Floats = weights / weights.sum()
    return shares


def _measure(model: Chain, name: str, rows: int, epsilon: float) -> SipStep:
    crr = ConditionalRandomizedResponse(model, epsilon)
    scope = DrawScope(Secret(bytes(32)), "bench", "crr", 1, crr.law_digest())
    keys = [b"user-%06d" % row for row in range(rows)]
    truth = np.arange(rows) % model.symbols
    state, offset = crr.start(rows), 0

    def step(state: State) -> State:
        nonlocal offset
        draws = scope.draws(keys, record_positions("bench", 0, range(offset, offset + rows)))
        offset += rows
        return crr.step(state, Inputs(truth), draws)[0]

    for _ in range(_WARM_STEPS):
        state = step(state)
    tracemalloc.start()
    step(state)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    times: list[float] = []
    while sum(times) < _SECONDS:
        began = time.process_time()
        state = step(state)
        times.append(time.process_time() - began)
    bytes_per_row = sum(column.nbytes for column in state.values()) // rows
    return SipStep(model.symbols, rows, name, float(np.median(times)), peak, bytes_per_row)


def sip_page(steps: list[SipStep], command: str, load_before: float) -> Page:
    """As a table."""
    dense = {(one.symbols, one.rows): one.seconds for one in steps if one.model == "dense"}
    rows = []
    for one in steps:
        baseline = dense.get((one.symbols, one.rows))
        ratio = "" if baseline is None else f"{one.seconds / baseline:.2f}"
        rows.append(
            [
                one.model,
                *figures(0, one.symbols, one.rows),
                *figures(3, one.seconds * 1e3, one.seconds * 1e6 / one.rows),
                ratio,
                *figures(0, one.peak_bytes / 1024 / one.rows, one.state_bytes),
            ]
        )
    header = ["model", "symbols", "users", "ms a step", "µs a record", "/ dense", "KiB", "state"]
    return Page(
        "sip",
        "Conditional randomized response",
        command,
        load_before,
        {"steps": [asdict(one) for one in steps]},
        [Grid(f"One step, CPU, median; {ENTRIES} entries a sparse row", header, rows)],
        [
            "Keyed draws are included. KiB: new memory a record at the height of a step, its "
            "results included. State: bytes a user."
        ],
    )
