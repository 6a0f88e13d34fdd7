"""The local table of section 9 of the PBA specification, and runs of LDP-IDS against it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np

from fugu.operators.ldp_ids import reporting
from fugu.operators.ldp_ids.collector import Collector
from fugu.operators.ldp_ids.oracles import SymmetricUnary
from fugu.operators.mechanism import Draws, Floats, Integers
from tests.operators.ldp_ids import same_tick as reference
from tests.operators.ldp_ids.rounds import KINDS, rounds
from tests.operators.ldp_ids.same_tick import by_budget, by_population
from tests.operators.noise.simulated import SimulatedDraws
from tests.operators.wevent.moving_users import CELLS, counts, walks

MECHANISMS: dict[str, type[Collector]] = {kind.kind: kind for kind in KINDS}
SAME_TICK = {"lbd": by_budget, "lba": by_budget, "lpd": by_population, "lpa": by_population}
PRINTED = ("lbu", "lsp", "lbd", "lba", "lpu", "lpa")
TABLE = {
    (10, 1.0): "711 70.3 530 407 223 163",
    (20, 1.0): "1420 70.8 996 807 316 229",
    (40, 1.0): "2847 72.8 2198 1631 447 329",
    (40, 5.0): "569 18.0 435 312 76.4 80.5",
    (10, 10.0): "70.8 6.4 55.3 41.7 16.5 23.8",
}
"""The printed mean absolute error of each mechanism, by window and epsilon."""


@dataclass(frozen=True)
class Added(SymmetricUnary):
    """Draw the sum of all reports at once: bits are independent, so it is binomial."""

    def report(self, symbols: Integers, draws: Draws, purpose: str) -> Integers:
        simulated = getattr(draws, "draws", draws)
        assert isinstance(simulated, SimulatedDraws)
        rng = simulated.rng
        true = np.bincount(symbols, minlength=self.symbols)
        return rng.binomial(true, self.p) + rng.binomial(len(symbols) - true, self.q)


@contextmanager
def added_at_once() -> Iterator[None]:
    """Let both halves, and the reference, draw sums: the same law, many times faster."""
    with ExitStack() as stack:
        for module in (reporting, reference):
            stack.enter_context(
                patch.object(module, "oracle", lambda name, symbols, units: Added(symbols, units))
            )
        yield


@dataclass(frozen=True)
class Cell:
    """One entry of the table; LPD has none."""

    window: int
    epsilon: float
    kind: str
    absolute: float | None

    @property
    def decides(self) -> bool:
        return self.kind in SAME_TICK


def cells() -> Iterator[Cell]:
    """All entries, row by row."""
    for (window, epsilon), row in TABLE.items():
        for kind, entry in zip(PRINTED, row.split(), strict=True):
            yield Cell(window, epsilon, kind, float(entry))
        yield Cell(window, epsilon, "lpd", None)


def ahead(cell: Cell, stream: int, rng: np.random.Generator) -> float:
    """Run both halves as they are, once."""
    mechanism = MECHANISMS[cell.kind](CELLS, cell.window, cell.epsilon)
    done = rounds(mechanism, walks(stream), SimulatedDraws(rng))
    return _error(np.stack([one.releases.values[0] for one in done]), stream)


def same_tick(cell: Cell, stream: int, rng: np.random.Generator) -> float:
    """Run what the paper has, once."""
    run, draws = SAME_TICK[cell.kind], SimulatedDraws(rng)
    return _error(run(cell.kind, walks(stream), CELLS, cell.window, cell.epsilon, draws), stream)


def _error(figures: Floats, stream: int) -> float:
    return float(np.abs(figures - counts(stream)).mean())
