"""Compile the rules that spread the budget of a window over reports, and their flags."""

from typing import NamedTuple

import numpy as np

from fugu.operators.compiled.compiling import part
from fugu.operators.compiled_charges import spent_after
from fugu.operators.mechanism import Array, Integers, State
from fugu.operators.wevent.allocation import BudgetAbsorption, Rule, Sample, Uniform
from fugu.operators.wevent.pba import Flags, Markov, Schedule
from fugu.operators.wevent.spread_strategies import DonorAllocation
from fugu.operators.wevent_local.reports import MarkovSinceReport

_UNIFORM, _SAMPLE, _ABSORPTION, _DONORS = range(4)
_CODES: dict[type[Rule], int] = {
    Uniform: _UNIFORM,
    Sample: _SAMPLE,
    BudgetAbsorption: _ABSORPTION,
    DonorAllocation: _DONORS,
}


class CompiledRule(NamedTuple):
    """Hold a rule and its flags as numbers.

    Budget distribution has no compiled rule. It offers another budget at almost every position, and
    how many words keep a bit with it takes longer to compute than a step.

    A flag follows from the tick, by a `pattern`, or from the time since the report, by `links`.
    """

    code: int
    window: int
    epsilon: int
    smallest: int
    share: int
    decision: int
    decides: bool
    pattern: Array
    links: Array

    @classmethod
    def of(cls, rule: Rule, flags: Flags) -> "CompiledRule | None":
        """Return the same as a rule and its flags; None where they are others."""
        code = _CODES.get(type(rule))
        pattern: tuple[bool, ...] = ()
        links: tuple[bool, ...] = ()
        match flags:
            case Schedule():
                pattern = flags.pattern
            case Markov():
                pattern = (flags.flag,)
            case MarkovSinceReport():
                links = flags.links
            case _:
                return None
        if code is None or rule.cap is not None:
            return None
        share = rule.epsilon // (2 * rule.window)
        budgets = rule.window, rule.epsilon, rule.smallest, share, rule.decision
        return cls(code, *budgets, rule.decides, np.array(pattern, bool), np.array(links, bool))


class Ledgers(NamedTuple):
    """Hold the columns of a state that rules write to; one that a rule does not have is empty."""

    tick: Integers
    recent: Integers
    spent: Integers
    last: Integers
    multiple: Integers
    donors: Array
    silenced: Array

    @classmethod
    def of(cls, state: State) -> "Ledgers":
        """Share the columns of a state."""
        rows = len(state["tick"])
        none, nothing = np.zeros((rows, 0), dtype=bool), np.zeros(rows, dtype=np.int64)
        return cls(
            state["tick"],
            state["recent"],
            state["spent"],
            state.get("last", nothing),
            state.get("multiple", nothing),
            state.get("donors", none),
            state.get("silenced", nothing.astype(bool)),
        )


@part
def offered(rule: CompiledRule, ledgers: Ledgers, row: int, since: int) -> tuple[int, int, int]:
    """Return what the next position is offered: for a decision, for a report, and the share of it
    that the rule remembers."""
    decision, tick = rule.decision, ledgers.tick[row]
    if rule.code == _UNIFORM:
        publication = rule.epsilon // rule.window
    elif rule.code == _SAMPLE:
        publication = rule.epsilon if tick % rule.window == 0 else 0
    elif rule.code == _ABSORPTION:
        silent = max(ledgers.multiple[row] - 1, 0)
        share = min(max(tick + 1 - ledgers.last[row] - silent, 0), rule.window)
        publication = share * rule.share
    else:
        share = 0 if ledgers.silenced[row] else 1
        decision = decision if share else 0
        if share and _flagged(rule, tick, since) and _oldest(ledgers.donors, row) >= 0:
            share = 2
        publication = share * rule.share
    publication = publication if publication >= rule.smallest else 0
    if rule.code <= _SAMPLE:
        share = publication
    return decision, publication, share


@part
def settled(
    rule: CompiledRule,
    ledgers: Ledgers,
    row: int,
    decision: int,
    publication: int,
    share: int,
    published: bool,
) -> bool:
    """Charge a position; return False, and do nothing, where a window would exceed epsilon."""
    charge = decision + (publication if published else 0)
    if _sum(ledgers.recent, row) + charge > rule.epsilon:
        return False
    _push(ledgers.recent, row, charge)
    ledgers.tick[row] += 1
    ledgers.spent[row] = spent_after(ledgers.spent[row], charge)
    if rule.code == _ABSORPTION:
        if published:
            ledgers.last[row], ledgers.multiple[row] = ledgers.tick[row], share
    elif rule.code == _DONORS:
        absorbs = published and share > 1
        if absorbs:
            ledgers.donors[row, _oldest(ledgers.donors, row)] = False
        _push(ledgers.donors, row, not published and not ledgers.silenced[row])
        ledgers.silenced[row] = absorbs
    return True


@part
def _flagged(rule: CompiledRule, tick: int, since: int) -> bool:
    if len(rule.pattern):
        return bool(rule.pattern[tick % len(rule.pattern)])
    return bool(rule.links[min(since, rule.window)])


@part
def _oldest(donors: Array, row: int) -> int:
    """Return the place of the oldest donor of a row, or -1."""
    for place in range(donors.shape[1]):
        if donors[row, place]:
            return place
    return -1


@part
def _sum(numbers: Integers, row: int) -> int:
    total = 0
    for place in range(numbers.shape[1]):
        total += numbers[row, place]
    return total


@part
def _push(columns: Array, row: int, newest: int) -> None:
    """Forget the oldest entry of a row and append the newest."""
    length = columns.shape[1]
    for place in range(length - 1):
        columns[row, place] = columns[row, place + 1]
    if length:
        columns[row, length - 1] = newest
