"""Compute exact worst cases of a mechanism whose law can be written down, as long as they fit."""

from dataclasses import dataclass
from itertools import islice

import numpy as np

from fugu.dataflows.offline.auditing.subject import Claim, Subject
from fugu.operators.auditing.enumeration import Sequences, deepest, sequences, stream_probabilities
from fugu.operators.auditing.step_check import StepCheck, check_step
from fugu.operators.mechanism import EnumerableMechanism, Floats, Notion, State
from fugu.operators.sip.chain import Chain

ROUNDING = 1e-9
"""Nats, and total variation, that the doubles of an enumeration may be off by."""
_LONGEST = 8
_LARGEST_ENUMERATION = 2**22
_LARGEST_STEP_CHECK = 2**20
_CELLS = 256


@dataclass(frozen=True)
class WorstCase:
    """Hold the most that `releases` releases leak, over all inputs and releases, and the claim."""

    notion: Notion
    about: str
    releases: int
    claim: float
    leaked: float

    @property
    def broken(self) -> bool:
        return self.leaked > self.claim + ROUNDING


@dataclass(frozen=True, eq=False)
class Exact:
    """Hold worst cases of 1 release, 2, ...; and compare `step` with the law they come from."""

    worst: tuple[WorstCase, ...]
    ledger_covers: bool | None
    """On every path, no more was leaked than the ledger says; None: it keeps none."""
    step: StepCheck | None
    step_states: int
    paths: tuple[Sequences, ...]

    @property
    def step_agrees(self) -> bool:
        step = self.step
        return step is None or (step.distance <= ROUNDING and step.follows and step.public)


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
        ledger_covers=_ledger_covers(subject, paths),
        step=None if states is None else check_step(mechanism, states, cells=_CELLS),
        step_states=0 if states is None else _rows(states),
        paths=paths,
    )


def _cases(subject: Subject, claim: Claim, paths: Sequences) -> list[WorstCase]:
    releases = paths.steps
    if claim.notion == "sip":
        leaked = float(_about_truth(subject.model, paths).max())
        return [WorstCase("sip", "the truth", releases, claim.over(releases), leaked)]
    one = max(float(paths.about_one_position(k).max()) for k in range(releases))
    streams = float(paths.about_streams().max())
    return [
        WorstCase("ldp", "one position", releases, claim.over(1), one),
        WorstCase("ldp", "whole streams", releases, claim.over(releases), streams),
    ]


def _about_truth(model: Chain | None, paths: Sequences) -> Floats:
    assert model is not None
    return paths.about_truth(stream_probabilities(model, paths.steps))


def _ledger_covers(subject: Subject, paths: tuple[Sequences, ...]) -> bool | None:
    """Check the ledger, which counts leakage relative to the model, or without one."""
    if "spent" not in paths[0].state:
        return None
    model, factor = subject.model, subject.ledger_factor
    return all(
        (leaked <= factor * some.spent + ROUNDING).all()
        for some in paths
        for leaked in [some.about_streams() if model is None else _about_truth(model, some)]
    )


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
