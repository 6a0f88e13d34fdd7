"""Compute exact worst cases of a mechanism whose law can be written down, as long as they fit."""

from dataclasses import dataclass
from itertools import islice

import numpy as np

from fugu.dataflows.offline.auditing.audited import ROUNDING, Check, WorstCase
from fugu.dataflows.offline.auditing.subject import Claim, Subject
from fugu.operators.auditing.enumeration import Sequences, deepest, sequences, stream_probabilities
from fugu.operators.auditing.step_check import check_step
from fugu.operators.mechanism import EnumerableMechanism, Floats, State
from fugu.operators.sip.chain import Chain

_LONGEST = 8
_LARGEST_ENUMERATION = 2**22
_LARGEST_STEP_CHECK = 2**20
_CELLS = 1024


@dataclass(frozen=True, eq=False)
class Exact:
    """Hold worst cases of 1 release, 2, ..., and the sequences that they come from."""

    worst: tuple[WorstCase, ...]
    checks: tuple[Check, ...]
    paths: tuple[Sequences, ...]


def exhaustive(subject: Subject) -> Exact | None:
    """Follow every truth and every sequence of releases, as long as there are not too many."""
    mechanism = subject.enumerable
    steps = 0 if mechanism is None else deepest(mechanism, entries=_LARGEST_ENUMERATION)
    if mechanism is None or steps == 0:
        return None
    paths = tuple(sequences(mechanism, min(steps, _LONGEST)))
    states = _states(mechanism, paths)
    return Exact(
        worst=tuple(
            case
            for some in paths
            for claim in subject.claims
            for case in _cases(subject, claim, some)
        ),
        checks=(*_ledger_check(subject, paths), *_step_check(mechanism, states)),
        paths=paths,
    )


def _cases(subject: Subject, claim: Claim, paths: Sequences) -> list[WorstCase]:
    releases = paths.steps
    extent = "1 release" if releases == 1 else f"{releases} releases"
    if claim.notion == "sip":
        leaked = float(_about_truth(subject.model, paths).max())
        return [WorstCase("sip", "the truth", extent, claim.over(releases), leaked)]
    one = max(float(paths.about_one_position(k).max()) for k in range(releases))
    streams = float(paths.about_streams().max())
    return [
        WorstCase("ldp", "one position", extent, claim.over(1), one),
        WorstCase("ldp", "whole streams", extent, claim.over(releases), streams),
    ]


def _about_truth(model: Chain | None, paths: Sequences) -> Floats:
    assert model is not None
    return paths.about_truth(stream_probabilities(model, paths.steps))


def _ledger_check(subject: Subject, paths: tuple[Sequences, ...]) -> tuple[Check, ...]:
    """Check the ledger, which counts leakage relative to the model, or without one."""
    if "spent" not in paths[0].state:
        return ()
    model, factor = subject.model, subject.ledger_factor
    covers = all(
        (leaked <= factor * some.spent + ROUNDING).all()
        for some in paths
        for leaked in [some.about_streams() if model is None else _about_truth(model, some)]
    )
    return (Check("the ledger of every path covers what it leaked", covers),)


def _step_check(mechanism: EnumerableMechanism, states: State | None) -> tuple[Check, ...]:
    """Compare what `step` draws with the law that worst cases come from."""
    if states is None:
        return ()
    step = check_step(mechanism, states, cells=_CELLS)
    agrees = step.distance <= ROUNDING and step.follows and step.public
    found = f"{_rows(states)} states, total variation {step.distance:.1e}"
    return (Check("step draws the law that worst cases come from", agrees, found),)


def _states(mechanism: EnumerableMechanism, paths: tuple[Sequences, ...]) -> State | None:
    """Return the start and what follows it, as many states as a check of `step` can look at."""
    inputs, outputs = mechanism.outcomes
    rows = _LARGEST_STEP_CHECK // (_CELLS * inputs * outputs)
    reached = [mechanism.start(1), *(some.state for some in islice(paths, 3))]
    if rows == 0:
        return None
    return {name: np.concatenate([state[name] for state in reached])[:rows] for name in reached[0]}


def _rows(state: State) -> int:
    return len(next(iter(state.values())))
