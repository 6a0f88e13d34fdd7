"""`python -m bench.ledgers`: a step with many charges in open ledgers, of relevance intervals.

Beside it a loop over the charges of the same ledgers does the same, and their bytes are copied.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from time import process_time

import numpy as np

from fugu.operators.mechanism import Inputs
from fugu.operators.swellfish.interval_strategies import UnicornPS
from fugu.operators.swellfish.relevance import Interval, Relevance
from tests.operators.swellfish.fixed_timeline import FixedTimeline
from tests.operators.swellfish.reference_ledger import Ledger, decoded, encoded, opened
from tests.operators.swellfish.running import simulated

CHARGES = 100_000
LEDGERS = (1, 100, 10_000)
ROUNDS = 9
TICK = 1_000_000
"""At which all ledgers are open."""


@dataclass(frozen=True)
class Known(FixedTimeline):
    """Ask for the same at every tick."""

    known: Relevance = field(kw_only=True)

    def relevance(self, tick: int, changes: bytes) -> Relevance:
        return self.known


@dataclass(frozen=True)
class Step:
    """CPU milliseconds of a step, of a loop over charges instead, and of a copy of their bytes."""

    ledgers: int
    step: float
    loop: float
    copy: float


def measure(ledgers: int) -> Step:
    """Measure a step of `UnicornPS` with so many ledgers, which share the charges."""
    rng, each = np.random.default_rng(1), CHARGES // ledgers
    spans = [(TICK - 1 - number, 2 * TICK) for number in reversed(range(ledgers))]
    intervals = tuple(Interval(*span, 2 * each) for span in spans)
    strategy = UnicornPS(Known((), 1, known=Relevance(1, intervals)), 1, 1.0)
    largest = strategy.cap // (2 * each)
    charges = np.sort(rng.integers(1, largest, size=(ledgers, each)), axis=1).tolist()
    known = [Ledger(*span, 2 * each, tuple(row)) for span, row in zip(spans, charges, strict=True)]
    content = encoded(known)
    state = strategy.elapse(strategy.start(1), np.array([TICK]))
    state["ledgers"][0] = content
    figures, draws = Inputs(np.zeros((1, 1), dtype=np.int64)), simulated(1)

    def loop() -> bytes:
        open_ones = opened(decoded(content), intervals, TICK)
        charge = min(ledger.proposal(TICK, strategy.cap) for ledger in open_ones)
        return encoded(ledger.spend(charge, strategy.cap) for ledger in open_ones)

    after, _ = strategy.step(state, figures, draws)
    assert after["ledgers"][0] == loop()
    return Step(
        ledgers,
        _milliseconds(lambda: strategy.step(state, figures, draws)),
        _milliseconds(loop),
        _milliseconds(lambda: bytearray(content)),
    )


def _milliseconds(measured: Callable[[], object]) -> float:
    def once() -> float:
        begun = process_time()
        measured()
        return (process_time() - begun) * 1000

    return median(once() for _ in range(ROUNDS))


if __name__ == "__main__":
    print(f"{CHARGES:,} charges; CPU milliseconds")
    for one in map(measure, LEDGERS):
        print(
            f"{one.ledgers:>6,} ledgers: step {one.step:.1f}, loop {one.loop:.0f} "
            f"({one.loop / one.step:.0f} times), copy of the bytes {one.copy:.2f}"
        )
