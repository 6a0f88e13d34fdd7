"""LDP-IDS as the paper has it: compare and publish in one tick. A reference, in plain numpy.

Nobody can run it on a stream: users would have to report a second time after the collector has
decided, while the tick is over.
"""

import numpy as np

from fugu.operators.budget_units import units_of
from fugu.operators.ldp_ids.oracles import oracle
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.wevent.allocation import BudgetAbsorption, BudgetDistribution
from tests.operators.noise.simulated import SimulatedDraws


def counted(name: str, symbols: Integers, cells: int, units: int, draws: SimulatedDraws) -> Floats:
    """Return the counts that reports of these users estimate."""
    law = oracle("sue", cells, units)
    supports = law.report(symbols, draws, name)
    return np.asarray((supports - len(symbols) * law.q) / (law.p - law.q))


def by_budget(
    kind: str, symbols: Integers, cells: int, window: int, epsilon: float, draws: SimulatedDraws
) -> Floats:
    """Return the figures of LBD or LBA, `(ticks, cells)`: section 4 of the specification."""
    users, units = symbols.shape[1], units_of(epsilon)
    rule = (BudgetDistribution if kind == "lbd" else BudgetAbsorption)(window, units, 2**12)
    state, released, figures = rule.start(1), np.full(cells, users / cells), []
    spread = users * oracle("sue", cells, rule.decision).spread
    for row in symbols:
        offer = rule.offer(state, np.zeros(1, dtype=bool))
        [amount] = offer.publication.tolist()
        seen = counted("decision", row, cells, rule.decision, draws)
        apart = np.mean((seen - released) ** 2) - spread
        published = amount > 0 and apart > users * oracle("sue", cells, amount).spread
        if published:
            released = counted("publication", row, cells, amount, draws)
        state = rule.settle(state, offer, np.array([published]))
        figures.append(released)
    return np.stack(figures)


def by_population(
    kind: str, symbols: Integers, cells: int, window: int, epsilon: float, draws: SimulatedDraws
) -> Floats:
    """Return the figures of LPD or LPA, whose users are drawn anew from those who are free."""
    users, units, fewest = symbols.shape[1], units_of(epsilon), 3
    part = users // (2 * window)
    free, last = np.full(users, -window), 0
    released, figures, taken = np.full(cells, users / cells), [], [0] * (window - 1)
    v, multiple = oracle("sue", cells, units).spread, 0
    for tick, row in enumerate(symbols, 1):
        available = draws.rng.permutation(np.flatnonzero(tick - free >= window))
        deciding, rest = available[:part], available[part:]
        free[deciding] = tick
        seen = counted("decision", row[deciding], cells, units, draws) * users / part
        apart = np.mean((seen - released) ** 2) - users**2 * v / part
        silent = max(multiple - 1, 0)
        since = tick - last - silent
        if kind == "lpd":
            asked = (users - window * part - sum(taken)) // 2
        else:
            asked = part * min(since, window) if since > 0 else 0
        asked = min(asked, len(rest))
        published = asked >= fewest and apart > users**2 * v / asked
        if published:
            chosen = rest[:asked]
            free[chosen] = tick
            released = counted("publication", row[chosen], cells, units, draws) * users / asked
            last, multiple = tick, asked // part
        taken = [*taken, asked if published else 0][1:] if window > 1 else []
        figures.append(released)
    return np.stack(figures)
