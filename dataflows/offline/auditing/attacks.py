"""Attack a black box: run the real operator many times on two streams and count what differs.

One half of the runs finds the event that tells two streams apart best, the other half counts it.
Every bound may err with its share of what the whole audit may err with (Bonferroni), so that with
the stated confidence *no* bound exceeds what the operator really leaks.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fugu.dataflows.offline.auditing.audited import Advance, Attack, World
from fugu.dataflows.offline.auditing.confidence import leakage_bound, lower_limit, upper_limit
from fugu.dataflows.offline.auditing.events import likeliest_event
from fugu.operators.mechanism import Floats


@dataclass(frozen=True)
class Effort:
    """Hold how hard to attack; `confidence` is in per cent.

    All secrets follow from `seed`; none is that of a pipeline.
    """

    runs: int
    confidence: float
    seed: int

    @property
    def counted(self) -> int:
        """Return how many runs of each stream bounds are computed from."""
        return self.runs // 2

    def out_of_reach(self, attacks: Sequence[Attack]) -> float:
        """Return the nats that so many runs cannot prove even of an operator that hides nothing."""
        counts = np.array(self.counted), np.array(0)
        error = self.error(attacks)
        return float(leakage_bound(*counts, self.counted, error=error, delta=0.0))

    def error(self, attacks: Sequence[Attack]) -> float:
        """Return the error of each attack in each direction."""
        return (1.0 - self.confidence / 100.0) / max(1, 2 * len(attacks))


@dataclass(frozen=True)
class Finding:
    """Hold what an attack found in its better direction."""

    attack: Attack
    bound: float
    shown: float
    at_least: float
    elsewhere: float
    at_most: float
    exact: float | None

    @property
    def broken(self) -> bool:
        """Return whether more leaks than is claimed, as surely as the audit's confidence says."""
        return self.bound > self.attack.claim


def carried_out(attacks: Sequence[Attack], effort: Effort, advance: Advance) -> list[Finding]:
    """Run all attacks; `advance` is told how many runs are done.

    What was seen of an input is kept while it is needed.
    """
    error = effort.error(attacks)
    needed = Counter(world for attack in attacks for world in {attack.one, attack.other})
    numbers = {world: number for number, world in enumerate(worlds(attacks))}
    kept: dict[World, Floats] = {}
    findings = list[Finding]()

    def seen(world: World) -> Floats:
        found = kept.pop(world, None)
        if found is None:
            found = world.seen(effort.runs, (effort.seed, numbers[world]), advance)
        needed[world] -= 1
        if needed[world]:
            kept[world] = found
        return found

    for attack in attacks:
        one, other = _varying(seen(attack.one), seen(attack.other))
        exact = attack.exact or (None, None)
        forth = _compared(attack, one, other, error, exact[0])
        back = _compared(attack, other, one, error, exact[1])
        findings.append(max(forth, back, key=lambda finding: finding.bound))
    return findings


def worlds(attacks: Sequence[Attack]) -> list[World]:
    """Return all inputs that have to be run, each once."""
    return list(dict.fromkeys(world for one in attacks for world in (one.one, one.other)))


def _varying(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    """Return the columns that are not the same everywhere, or the first one."""
    first, varying = one[0], np.zeros(one.shape[1], dtype=bool)
    for some in (one, other):
        varying |= ~((some == first) | (np.isnan(some) & np.isnan(first))).all(axis=0)
    varying[0] |= not varying.any()
    return one[:, varying], other[:, varying]


def _compared(
    attack: Attack, shown: Floats, other: Floats, error: float, exact: float | None
) -> Finding:
    half = len(shown) // 2
    event = likeliest_event(shown[half:], other[half:], error=error, delta=attack.delta)
    hits, other_hits = np.array(event.count(shown[:half])), np.array(event.count(other[:half]))
    bound = leakage_bound(hits, other_hits, half, error=error, delta=attack.delta)
    return Finding(
        attack,
        bound=float(bound),
        shown=float(hits / half),
        at_least=float(lower_limit(hits, half, error / 2.0)),
        elsewhere=float(other_hits / half),
        at_most=float(upper_limit(other_hits, half, error / 2.0)),
        exact=exact,
    )
