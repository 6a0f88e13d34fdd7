"""Compute exact worst cases of a mechanism whose law can be written down, as long as they fit."""

from dataclasses import dataclass
from itertools import islice

import numpy as np

from fugu.dataflows.offline.auditing.audited import ROUNDING, Check, WorstCase
from fugu.dataflows.offline.auditing.records.subject import Claim, Subject
from fugu.operators.auditing.enumeration import Sequences, deepest, sequences
from fugu.operators.auditing.step_check import check_step
from fugu.operators.auditing.whole_batches import WholeBatches
from fugu.operators.budget import without_budget
from fugu.operators.budget_units import in_nats
from fugu.operators.columns import joined, taken
from fugu.operators.mechanism import Floats, State
from fugu.operators.wevent_local.window_reports import WindowReports

_LONGEST = 8
_LARGEST_ENUMERATION = 2**22
_LARGEST_STATES = 2**26
"""The bytes that states after all sequences of releases may take."""
_LARGEST_DRIVEN = 2**28
"""The bytes of states that `step` may be driven from at once, with many words each."""
_LARGEST_STEP_CHECK = 2**20
_CELLS = 1024
_FEWEST_CELLS = 256
_COST_OF_A_BATCH = 4
_CELLS_OF_BATCHES = 2**14
"""Bound the cells in which words are looked at: unlikely batches have few words, between others."""


@dataclass(frozen=True, eq=False)
class Exact:
    """Hold worst cases of 1 release, 2, ..., and the sequences that they come from."""

    worst: tuple[WorstCase, ...]
    checks: tuple[Check, ...]
    paths: tuple[Sequences, ...]
    driven: bool
    """Say whether `step` was compared with the law that worst cases come from."""


def exhaustive(subject: Subject) -> Exact | None:
    """Follow every truth and every sequence of releases, as long as there are not too many."""
    mechanism = subject.enumerable
    if mechanism is None:
        return None
    start = mechanism.start(1) if subject.start is None else subject.start
    longest = 1 if subject.draining else _LONGEST
    steps = min(longest, deepest(mechanism, entries=_LARGEST_ENUMERATION))
    while steps and mechanism.outcomes[1] ** steps * _bytes(start) > _LARGEST_STATES:
        steps -= 1
    if steps == 0:
        return None
    paths = tuple(sequences(mechanism, steps, start))
    cases = (
        case for some in paths for claim in subject.claims for case in _cases(subject, claim, some)
    )
    ledger, steps_drawn = _ledger_check(subject, start, paths), _step_check(subject, start, paths)
    return Exact(tuple(cases), (*ledger, *steps_drawn), paths, driven=bool(steps_drawn))


def _cases(subject: Subject, claim: Claim, paths: Sequences) -> list[WorstCase]:
    releases = paths.steps
    number = "1 release" if releases == 1 else f"{releases} releases"
    extent = f"{number} {subject.phase}".rstrip()
    if claim.change == "believed":
        leaked = float(_about_truth(subject, paths).max())
        return [WorstCase(claim.notion, "the truth", extent, claim.over(releases), leaked)]
    one = max(float(paths.about_one_position(k).max()) for k in range(releases))
    streams = float(paths.about_streams().max())
    position = "one position" if subject.records == 1 else "one batch"
    return [
        WorstCase(claim.notion, position, extent, claim.over(1), one),
        WorstCase(claim.notion, "whole streams", extent, claim.over(releases), streams),
    ]


def _about_truth(subject: Subject, paths: Sequences) -> Floats:
    """Return the worst for all models that the claim is about."""
    each = [paths.about_truth(likely) for likely in subject.believed(paths.steps * subject.records)]
    return np.asarray(np.max(each, axis=0))


def _ledger_check(
    subject: Subject, start: State, paths: tuple[Sequences, ...]
) -> tuple[Check, ...]:
    """Check the ledger, which counts leakage relative to the model, or without one."""
    if "spent" not in start:
        return ()
    factor, before = subject.ledger_factor, in_nats(int(start["spent"][0]))
    covers = all(
        (leaked <= factor * (some.spent - before) + ROUNDING).all()
        for some in paths
        for leaked in [
            some.about_streams() if subject.model is None else _about_truth(subject, some)
        ]
    )
    about = f"the ledger of every path {subject.phase}".rstrip()
    return (Check(f"{about} covers what it leaked", covers),)


def _step_check(subject: Subject, start: State, paths: tuple[Sequences, ...]) -> tuple[Check, ...]:
    """Compare what `step` draws with the law that worst cases come from."""
    mechanism = subject.enumerable
    assert mechanism is not None
    inside = without_budget(mechanism)
    batches = isinstance(inside, WholeBatches)
    if isinstance(inside, WindowReports) or (isinstance(inside, WholeBatches) and inside.draws > 1):
        return ()
    inputs, outputs = mechanism.outcomes
    words = _LARGEST_DRIVEN // (inputs * _bytes(start))
    cells = min(_CELLS_OF_BATCHES if batches else _CELLS, words // 2)
    if cells < _FEWEST_CELLS:
        return ()
    rows = _LARGEST_STEP_CHECK // (cells * inputs * (_COST_OF_A_BATCH if batches else outputs))
    rows = min(rows, words // (2 * cells))
    if rows == 0:
        return ()
    reached = joined([start, *(some.state for some in islice(paths, 3))])
    states = taken(reached, np.arange(min(rows, _rows(reached))))
    step = check_step(mechanism, states, cells=cells)
    agrees = step.distance <= ROUNDING and step.follows and step.public
    found = f"{_rows(states)} states, total variation {step.distance:.1e}"
    about = f"step draws the law that worst cases {subject.phase}".rstrip()
    return (Check(f"{about} come from", agrees, found),)


def _bytes(state: State) -> int:
    """Return the bytes of a state."""
    return sum(column.nbytes for column in state.values())


def _rows(state: State) -> int:
    return len(next(iter(state.values())))
