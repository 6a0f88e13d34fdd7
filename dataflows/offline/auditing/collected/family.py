"""Audit private reports: what those of one user tell in any window, whatever users are asked."""

from collections.abc import Iterator

import numpy as np

from fugu.dataflows.offline.auditing.audited import Audited, Check, WorstCase
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.operators.budget_units import in_nats
from fugu.operators.ldp_ids.collector import Collector
from fugu.operators.ldp_ids.deciding import DecidingCollector
from fugu.operators.ldp_ids.reporting import EVERYBODY, Instruction, Spent
from fugu.operators.mechanism import State

_LONGEST = 200
"""Count the ticks of the windows that are followed."""
_MOST = 2**59
"""More than anybody has."""
_SMALL = 6
"""Laws of reports are written down for so many groups."""


def audited_collected(file: PipelineFile, steps: int) -> Audited:
    """Return the exact loss of a user's reports: as the rule asks for them, and beyond it."""
    mechanism = configure(file).mechanism
    assert isinstance(mechanism, Collector)
    courses = {
        "asked as often as the rule allows": _by_the_rule(mechanism),
        "asked for everything at every tick": [Instruction(_MOST)] * _ticks(mechanism),
    }
    promise = mechanism.guarantees()[0]
    worst = [
        WorstCase(
            promise.notion,
            "reports of one user",
            f"any window of {mechanism.window:,} ticks, {name}",
            promise.epsilon,
            in_nats(_largest(mechanism, course)),
        )
        for name, course in courses.items()
    ]
    return Audited(tuple(worst), tuple(_checks(mechanism)), (), tuple(_not_reached(mechanism)))


def _ticks(mechanism: Collector) -> int:
    return min(3 * mechanism.window, _LONGEST) + 1


def _by_the_rule(mechanism: Collector) -> list[Instruction]:
    """Return what is asked where every decision is for a publication."""
    fixed = mechanism.reporting.fixed
    if fixed is not None:
        return [fixed(tick) for tick in range(_ticks(mechanism))]
    assert isinstance(mechanism, DecidingCollector)
    rule, asked = mechanism.rule, [Instruction()]
    state, no_flags = rule.start(1), np.zeros(1, dtype=bool)
    state = rule.settle(state, rule.offer(state, no_flags), no_flags)
    for _ in range(_ticks(mechanism) - 1):
        offer = rule.offer(state, no_flags)
        state = rule.settle(state, offer, offer.publication > 0)
        asked.append(Instruction(int(offer.publication[0])))
    return asked


def _largest(mechanism: Collector, asked: list[Instruction]) -> int:
    """Return the most that the reports of a window lose, exactly, over users of many places."""
    reporting, window = mechanism.reporting, mechanism.window
    places = np.arange(0, EVERYBODY, EVERYBODY // (4 * window + 1))
    state: State = reporting.start(len(places))
    if "place" in state:
        state["place"] = places
    spent: Spent = {}
    losses = np.zeros((len(asked) + 1, len(places)), dtype=np.int64)
    for tick, instruction in enumerate(asked):
        both = reporting.asked(state, len(places), spent, tick, instruction)
        state, spent = reporting.after(state, spent, tick, both)
        losses[tick + 1] = losses[tick]
        for one in both:
            if one.rows.any():
                losses[tick + 1] += one.rows * mechanism.law(one.units).charge
    ends = np.minimum(np.arange(len(asked)) + window, len(asked))
    return int((losses[ends] - losses[: len(asked)]).max())


def _checks(mechanism: Collector) -> Iterator[Check]:
    """Compare the law of a report, where it can be written down, with what is charged for it."""
    units = sorted({mechanism.first_units, mechanism.reporting.decision} & set(_used(mechanism)))
    if mechanism.symbols > _SMALL:
        return
    for one in units:
        law = mechanism.law(one)
        chances = law.outcomes()
        loss = float(np.log(chances.max(axis=0) / chances.min(axis=0)).max())
        yield Check(
            f"no report with {in_nats(one):g} nats tells two groups further apart",
            loss <= in_nats(one) + 1e-9,
            f"{loss:.6f} nats over all {chances.shape[1]:,} reports",
        )


def _used(mechanism: Collector) -> Iterator[int]:
    yield mechanism.first_units
    if mechanism.reporting.decision and mechanism.first_share == 1.0:
        yield mechanism.reporting.decision


def _not_reached(mechanism: Collector) -> Iterator[str]:
    if mechanism.window > _LONGEST:
        yield f"windows beyond {_LONGEST} ticks: {mechanism.window:,} were declared"
    yield (
        "attacks on figures: they are made of the reports whose exact loss stands above, and of "
        "nothing else"
    )
    yield "whether a user is there, which is public"
