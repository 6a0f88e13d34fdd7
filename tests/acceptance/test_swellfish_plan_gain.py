"""Measure what noise plans save in the household study, against rules that see today alone.

No figures are drawn: what a tick costs is public, and the size of its noise is expected to be
Delta_t / e_t. Takes some three minutes of processor time, which all processors share.
Writes `results/swellfish_plan_gain.txt`: commit it.

Source: Swellfish specification, sections 5.2 and 7.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import process_time

import numpy as np
import pytest

from examples.household.household import LARGEST_LOAD, Household, households
from examples.household.mechanisms import EPSILON
from examples.household.zones import TICKS, UNITS_PER_KW
from fugu.operators.mechanism import Floats
from fugu.operators.swellfish import planning
from fugu.operators.swellfish.ledger import Ledgers
from fugu.operators.swellfish.planning import Plan, UnicornPlan, foreseen, planned_charges
from fugu.operators.swellfish.relevance import Relevance
from tests.examples.household.statistics import SEED
from tests.operators.swellfish.reference_ledger import Ledger, encoded, opened

RESULTS = Path(__file__).parent / "results" / "swellfish_plan_gain.txt"
HOUSEHOLDS = 55
ALL_KNOWN = "half a year planned at once"
UNITS = 2**40


Rule = Callable[[int, Sequence[Ledger]], int]
"""Returns what a tick is charged, in units, given the ledgers that are open."""


def even(tick: int, ledgers: Sequence[Ledger]) -> int:
    return min(ledger.share(UNITS) for ledger in ledgers)


def greedy(tick: int, ledgers: Sequence[Ledger]) -> int:
    return min(ledger.proposal(tick, UNITS) for ledger in ledgers)


def as_printed(tick: int, ledgers: Sequence[Ledger]) -> int:
    """Return what lines 9 and 10 of the algorithm print: the smallest charge is taken."""

    def proposal(ledger: Ledger) -> int:
        smallest = ledger.largest[0] if len(ledger.largest) == ledger.affected else 0
        left = UNITS - sum(ledger.largest) - smallest
        return max(ledger.share(UNITS), left // (ledger.end - tick + 1))

    return min(map(proposal, ledgers))


@dataclass
class Planned:
    """Charge what the strategy plans, and note how long each plan takes, in seconds."""

    strategy: UnicornPlan
    plan: Plan | None = None
    seconds: list[float] = field(default_factory=list)

    def __call__(self, tick: int, ledgers: Sequence[Ledger]) -> int:
        if self.plan is None or not self.plan.holds(tick, b""):
            self.plan = self._made(tick, ledgers)
        return min(self.plan.charge(tick), *(ledger.headroom(UNITS) for ledger in ledgers))

    def _made(self, tick: int, ledgers: Sequence[Ledger]) -> Plan:
        state = self.strategy.start(1)
        state["tick"][0], state["ledgers"][0] = tick, encoded(ledgers)
        began = process_time()
        made = self.strategy.plan(state)
        self.seconds.append(process_time() - began)
        assert made is not None
        return Plan.decoded(made)


Sizes = Mapping[str, float]


def expected(home: Household) -> tuple[Sizes, list[float]]:
    """Return the mean size of the noise by each rule, in kW, and how long plans took."""
    timeline = home.timeline()
    asked = [timeline.relevance(tick, b"") for tick in range(TICKS)]
    planned = Planned(UnicornPlan(timeline, 1, EPSILON))
    rules: Mapping[str, Rule] = {
        "even shares": even,
        "UnicornPS as printed": as_printed,
        "UnicornPS": greedy,
        "UnicornPlan": planned,
    }
    sizes = {name: _size(asked, rule) for name, rule in rules.items()}
    whole = [replace(one, sensitivity=LARGEST_LOAD * bool(one.intervals)) for one in asked]
    sizes = {"TINARUniform": _size(whole, even), **sizes, ALL_KNOWN: _all_known(home)}
    return sizes, planned.seconds


def _size(asked: Sequence[Relevance], rule: Rule) -> float:
    ledgers: list[Ledger] = []
    total = 0.0
    for tick, relevance in enumerate(asked):
        ledgers = opened(ledgers, relevance.intervals, tick)
        if ledgers and relevance.sensitivity:
            charge = rule(tick, ledgers)
            ledgers = [ledger.spend(charge, UNITS) for ledger in ledgers]
            total += relevance.sensitivity * UNITS / charge
    return total / TICKS / UNITS_PER_KW


def _all_known(home: Household) -> float:
    """Plan all ticks in one programme, with as many stretches as there are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "LARGEST_STRETCHES", TICKS)
        stretches = foreseen(home.timeline(), b"", 0, TICKS)
    charges = planned_charges(stretches, Ledgers.decoded([b""]), UNITS)
    sizes = [
        (one.last - one.first + 1) * one.value.sensitivity * UNITS / charge
        for one, charge in zip(stretches, charges, strict=True)
        if charge
    ]
    return sum(sizes) / TICKS / UNITS_PER_KW


@pytest.mark.acceptance
def test_plans_save_little_in_most_households_and_a_sixth_in_some() -> None:
    homes = households(HOUSEHOLDS, SEED)
    with ProcessPoolExecutor() as pool:
        found = list(pool.map(expected, homes))
    noise = {name: np.array([sizes[name] for sizes, _ in found]) for name in found[0][0]}
    seconds = np.array([one for _, each in found for one in each])
    saved = {name: sizes / noise["UnicornPlan"] for name, sizes in noise.items()}
    RESULTS.write_text("\n\n".join([HEAD, table(noise, saved), times(seconds)]) + "\n")
    assert (saved["UnicornPS"] > 0.999).all()
    assert (saved["UnicornPS as printed"] > 0.999).all()
    assert 1.0 < np.median(saved["UnicornPS"]) < 1.05
    assert 1.1 < saved["UnicornPS"].max() < 1.3
    assert (saved[ALL_KNOWN] > 0.998).all(), "it is enough to see 4,000 hours"
    alike = np.array([_weeks(home) > LARGEST_LOAD // 20 for home in homes])
    assert saved["UnicornPS"][alike].max() < 1.03
    assert np.median(saved["UnicornPS"][~alike]) > 1.05


def _weeks(home: Household) -> int:
    """Return the load that runs for weeks."""
    return max(home.occurrences, key=lambda one: one.ticks).thresholds[0]


HEAD = f"""\
{HOUSEHOLDS} households of the study, half a year of hours; epsilon 1, exact where nothing is
relevant. The expected size of the noise is the mean of Delta_t / e_t over all hours, computed from
what each hour is charged. A plan looks at the coming 4,000 hours, or at as many as make 500
stretches of which the same is asked; the first half of it is used. The last row plans all hours at
once, and is as little as is possible."""


def table(noise: Mapping[str, Floats], saved: Mapping[str, Floats]) -> str:
    rows = [f"{'':<28}{'kW':<12}times that of UnicornPlan: median (5 % to 95 %), most, mean"]
    for name, sizes in noise.items():
        low, middle, high = np.quantile(saved[name], (0.05, 0.5, 0.95)).tolist()
        times_more = f"{middle:.4g} ({low:.4g} to {high:.4g})"
        most, mean = saved[name].max(), saved[name].mean()
        rows.append(
            f"{name:<28}{np.median(sizes):<12.4g}{times_more:<30}{most:<8.4g}{mean:.4g}".rstrip()
        )
    return "\n".join(rows)


def times(seconds: Floats) -> str:
    middle, high = np.quantile(seconds, (0.5, 0.95)).tolist()
    return (
        f"{len(seconds)} plans took {middle:.2g} s (median), {high:.2g} s (95 %), "
        f"{seconds.max():.2g} s at most, of processor time."
    )
