"""Budgets that absorb what repeated positions left, for adaptive release of symbols:
`python -m bench.absorbed_budgets`, a few minutes.

LBA of LDP-IDS lets a publication take what earlier ticks have not spent, and is silent afterwards
for as long. In the place of `release_epsilon`, a fresh release here takes it times the positions
since the last one, `most` at most; after that the others are silent, or not. Whatever a position
may spend is a function of releases, so all of it is private path-wise (SIP specification, section
7). The question is what it is worth: errors of published symbols beside those of `adaptive_crr`
with another constant `release_epsilon`, at what both have spent.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from rich.console import Console

from fugu.operators.budget_units import in_nats
from fugu.operators.columns import copied, put, taken
from fugu.operators.mechanism import Inputs, Integers, Kind
from fugu.operators.randomness import DrawScope, Secret, draws_of, record_positions
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.markov_model import MarkovModel

STREAMS, STEPS, FIRST = 160, 80, 20
CHAINS = ((2, 0.9), (8, 0.97))
DECISIONS = (0.25, 0.5, 1.0)
CONSTANT = (1.0, 1.5, 2.0, 3.0)
ABSORBED = ((0.5, 4), (1.0, 2), (1.0, 3), (1.5, 2))


@dataclass(frozen=True)
class Budgets:
    """Let fresh releases take `release` times the positions since the last one, up to `most`."""

    decision: float
    release: float
    most: int = 1
    silent: bool = False

    @cached_property
    def name(self) -> str:
        """Return what tells it from others in the table."""
        if self.most == 1:
            return f"constant {self.release:g}"
        return f"{self.release:g} times up to {self.most}" + ", then silence" * self.silent


def sticky(symbols: int, stays: float) -> MarkovModel:
    """Return a chain that stays, or goes to any other symbol."""
    moves = np.full((symbols, symbols), (1.0 - stays) / (symbols - 1))
    np.fill_diagonal(moves, stays)
    return MarkovModel(np.full(symbols, 1.0 / symbols), moves)


def truth_of(model: MarkovModel, rng: np.random.Generator) -> Integers:
    """Draw all streams from the chain, `(steps, streams)`."""
    drawn, law = [], np.tile(model.prior[:, None], STREAMS)
    for _ in range(STEPS):
        sums = np.cumsum(law, axis=0)
        drawn.append((sums <= rng.random(STREAMS) * sums[-1]).sum(axis=0))
        law = model.transition[drawn[-1]].T
    return np.stack(drawn)


def simulated(model: MarkovModel, budgets: Budgets) -> tuple[float, float]:
    """Return the share of wrong symbols, and nats spent on a position, behind the first ones."""
    levels = [
        AdaptiveRelease(model, budgets.decision, number * budgets.release)
        for number in range(1, budgets.most + 1)
    ]
    scope = DrawScope(Secret(bytes(31) + b"1"), "absorbed budgets", "adaptive_crr", 1, bytes(32))
    keys = [b"stream %d" % stream for stream in range(STREAMS)]
    state, spent = levels[0].start(STREAMS), list[float]()
    saved, silent = np.zeros(STREAMS, dtype=np.int64), np.zeros(STREAMS, dtype=np.int64)
    wrong = []
    for step, values in enumerate(truth_of(model, np.random.default_rng(1))):
        draws = scope.draws(keys, record_positions("absorbed budgets", 0, [step] * STREAMS))
        after, released = copied(state), state["previous"].copy()
        fresh, speaks = np.zeros(STREAMS, dtype=bool), silent == 0
        saved = np.where(speaks, np.minimum(saved + 1, budgets.most), saved)
        for number, level in enumerate(levels, 1):
            rows = np.flatnonzero(speaks & (saved == number))
            its, inputs = taken(state, rows), Inputs(values[rows])
            its, releases = level.step(its, inputs, draws_of(draws, rows, STREAMS))
            put(after, rows, its)
            released[rows], fresh[rows] = releases.values, np.asarray(releases.kinds) == Kind.FRESH
        rows = np.flatnonzero(~speaks)
        quiet = taken(state, rows)
        put(after, rows, levels[0].skip(quiet, quiet["previous"])[0])
        silent = np.where(speaks, np.where(fresh & budgets.silent, saved - 1, 0), silent - 1)
        saved, state = np.where(fresh, 0, saved), after
        wrong.append(float(np.mean(released != values)))
        spent.append(in_nats(int(state["spent"].sum())) / STREAMS)
    return float(np.mean(wrong[FIRST:])), (spent[-1] - spent[FIRST - 1]) / (STEPS - FIRST)


def main() -> None:
    """Print all pairs of error and spending, by what is spent."""
    console = Console()
    for symbols, stays in CHAINS:
        model = sticky(symbols, stays)
        tried = [Budgets(decision, one) for decision in DECISIONS for one in CONSTANT]
        tried += [
            Budgets(decision, *one, silent)
            for decision in DECISIONS
            for one in ABSORBED
            for silent in (False, True)
        ]
        found = sorted((*simulated(model, one)[::-1], one.decision, one.name) for one in tried)
        console.print(f"{symbols} symbols that stay with {stays:g}: nats, wrong, decision, release")
        for nats, wrong, decision, name in found:
            console.print(f"{nats:.3f}  {wrong:.4f}  {decision:g}  {name}")


if __name__ == "__main__":
    main()
